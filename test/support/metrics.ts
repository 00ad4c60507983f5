import { type OpenMetricsContentType, Registry } from 'prom-client';
import { NODES } from '../../src/mco/resources.ts';
import { AnswerRecorder } from '../../src/review/answer-recorder.ts';
import { Metrics } from '../../src/status/metrics.ts';
import { memoryLog } from './log.ts';

type Sources = Omit<ConstructorParameters<typeof Metrics>[0], 'registry'>;

const SOURCES: Sources = {
  index: { reflectors: [{ resource: NODES, silentMs: 1 }], byConfig: new Map(), listPools: () => [] },
  live: { readCount: 1 },
  settings: { settings: { mode: 'Enforce', holdSupersededMs: 0 }, readAt: 0 },
  reporter: () => ({ danglingCount: 0, protectedConfigs: 0 }),
  certificate: { expiries: () => [{ certificate: 'serving', notAfter: new Date(0), isRenewedByGuard: true }] },
};

/** The metrics of a guard with a value for each, except for these sources, and the recorder of its answers. */
export function createMetrics(sources: Partial<Sources> = {}) {
  const registry = new Registry<OpenMetricsContentType>();
  const events = { record: () => {} };
  const answers = new AnswerRecorder({ log: memoryLog().log, events, registry, now: () => new Date() });
  return { answers, metrics: new Metrics({ registry, ...SOURCES, ...sources }) };
}

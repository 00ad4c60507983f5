import { INTERMEDIATE } from '../../../src/serving/tls-profile.ts';
import { DEFAULT_SETTINGS } from '../../../src/api/settings.ts';
import { LRUCache } from 'lru-cache';
import { parseNodeReferrer, parsePoolReferrer } from '../../../src/mco/parse-referrer.ts';
import { toConfigName } from '../../../src/mco/machine-config.ts';
import { MACHINE_CONFIGS, NODES } from '../../../src/mco/resources.ts';
import { MAX_DELETIONS, type RecordedDeletion } from '../../../src/review/answer-recorder.ts';
import { MAX_RECORDED_REFERRERS } from '../../../src/review/verdict.ts';
import type { DanglingFinding } from '../../../src/status/dangling-reference-detector.ts';
import { describeStatus } from '../../../src/status/describe-status.ts';
import { StatusWriter } from '../../../src/status/status-writer.ts';
import { NEVER_ABORTED } from '../../../src/common/wait.ts';
import { memoryLog } from '../../support/log.ts';
import { indexOf } from '../../support/reference-index.ts';

/** More than any list of the status has. */
const MANY = Array.from({ length: 200 }, (_, number) => number);
const NOW = new Date('2026-11-21T12:00:00Z');
const NAME = 'cluster';

function toConfig(number: number) {
  const name = toConfigName(`rendered-pool${number}-${'a'.repeat(32)}`);
  return { name, uid: name, createdAt: NOW, isTerminating: false, isOverridden: false };
}

const FINDINGS = MANY.map((number): DanglingFinding => {
  const text = 'it was deleted';
  const { name: config } = toConfig(number);
  const names = { config, suggestion: config };
  return {
    kind: 'Node',
    name: `node${number}`,
    field: 'spec',
    since: NOW,
    deletedAt: NOW,
    explanation: text,
    ...names,
  };
});

/** What the guard writes if all that it reports is many. */
export async function writeLongStatus(): Promise<object> {
  const referrers = [
    parseNodeReferrer({ metadata: { name: 'node', annotations: {} } }),
    ...MANY.map((number) => {
      return parsePoolReferrer({ metadata: { name: `pool${number}`, resourceVersion: '1' }, spec: {}, status: {} });
    }),
  ];
  const index = indexOf(referrers);
  const status = describeStatus({
    index: {
      reflectors: [{ resource: NODES, silentMs: 0, contentProblem: undefined }],
      byConfig: index.byConfig,
      listPools: index.listPools.bind(index),
      listUnreportedNodes: index.listUnreportedNodes.bind(index),
    },
    configs: {
      resource: MACHINE_CONFIGS,
      silentMs: 0,
      isForbidden: false,
      objects: new Map(MANY.map((number) => [toConfig(number).name, toConfig(number)])),
    },
    history: { createdAt: () => NOW },
    settings: DEFAULT_SETTINGS,
    findings: FINDINGS,
    protectedConfigs: 1,
    expiries: [{ certificate: 'serving', notAfter: NOW, isRenewedByGuard: false }],
    tlsProfile: { profile: INTERMEDIATE },
    now: NOW,
  });
  const deletions = new LRUCache<string, RecordedDeletion>({ max: MAX_DELETIONS });
  for (const number of MANY) deletions.set(toConfig(number).name, { time: NOW, user: 'admin', reason: 'r' });
  const referrer = { kind: 'Node', name: 'node', field: 'currentConfig' } as const;
  const lastDenial = {
    time: NOW,
    user: 'admin',
    name: 'x',
    referrers: Array.from({ length: MAX_RECORDED_REFERRERS }, () => referrer),
  };
  let written: object = {};
  const writer = new StatusWriter({
    api: {
      json: async ({ body }) => {
        written = { ...written, ...(body as { readonly status: object }).status };
        return await Promise.resolve({ metadata: { name: NAME }, status: written });
      },
    },
    log: memoryLog().log,
    stored: () => ({ metadata: { name: NAME } }),
    now: () => NOW,
    answers: { deletions, lastDenial },
    onFailure: () => {},
  });
  await writer.write(status, NEVER_ABORTED);
  return JSON.parse(JSON.stringify(written)) as object;
}

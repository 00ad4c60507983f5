import { once } from 'node:events';
import { expect, test, vi } from 'vitest';
import type { Referrer } from '../../src/mco/referrer.ts';
import type { PoolReferrer } from '../../src/mco/referrer.ts';
import type { ReferenceIndex } from '../../src/references/reference-index.ts';
import { indexOf } from '../support/reference-index.ts';
import type { ApiRequest } from '../../src/kube/api.ts';
import { ApiError, ApiUnreachable } from '../../src/kube/errors.ts';
import { DanglingReferenceDetector } from '../../src/status/dangling-reference-detector.ts';
import { parseNodeReferrer, parsePoolReferrer } from '../../src/mco/parse-referrer.ts';
import { memoryLog } from '../support/log.ts';
import { countTurns } from '../support/turns.ts';
import { fakeUntilEnd } from '../support/until-end.ts';
import { toConfigName } from '../../src/mco/machine-config.ts';

const CURRENT_CONFIG = 'machineconfiguration.openshift.io/currentConfig';
const CONFIG = toConfigName(`rendered-worker-${'a'.repeat(32)}`);
const MISSING = toConfigName(`rendered-worker-${'b'.repeat(32)}`);
const MISSING_INFRA = MISSING.replace('worker', 'infra');
const NOT_FOUND = new ApiError(404, 'NotFound', 'not found');
const NOW = new Date('2026-11-21T12:00:00Z');

function toReferrer(config: string, index: number): Referrer {
  const annotations = { [CURRENT_CONFIG]: config };
  return parseNodeReferrer({ metadata: { name: `worker-${index}`, annotations } });
}

/** A detector in a cluster with one config and a node that uses it. */
class DetectorTest {
  readonly configs = new Set([CONFIG]);
  readonly deletedAt = new Map<string, Date>();
  readonly found: string[] = [];
  readonly memory = memoryLog();
  /** The config that each node names. */
  configOfNode: readonly string[] = [CONFIG];
  pools: readonly PoolReferrer[] = [];
  now = NOW;
  isSynced = true;
  requestCount = 0;
  answer: unknown = NOT_FOUND;
  readonly detector = new DanglingReferenceDetector({
    api: {
      json: async (request: ApiRequest) => {
        this.requestCount += 1;
        if (this.answer instanceof Error) throw this.answer;
        return await (typeof this.answer === 'function' ? this.answer(request) : this.answer);
      },
    },
    index: this,
    configs: { isSynced: true, names: () => new Set(this.configs), deletedAt: (name) => this.deletedAt.get(name) },
    log: this.memory.log,
    onFound: ({ config }) => this.found.push(String(config)),
    now: () => this.now,
  });

  async check(): Promise<DanglingReferenceDetector['findings']> {
    await this.detector.check(new AbortController().signal);
    return this.detector.findings;
  }

  /** With `isSynced` the part of an index that a detector uses. */
  get byConfig(): ReferenceIndex['byConfig'] {
    return indexOf(this.configOfNode.map(toReferrer)).byConfig;
  }

  listPools(): readonly PoolReferrer[] {
    return this.pools;
  }
}

test('counts the configs in use, reports a dangling reference once, and logs once that it is gone', async () => {
  const it = new DetectorTest();
  it.configs.add(toConfigName('99-worker'));
  it.configOfNode = [CONFIG, CONFIG, '99-worker'];
  expect([await it.check(), it.detector.protectedConfigs]).toEqual([[], 1]);
  it.configOfNode = [MISSING];
  await it.check();
  const findings = await it.check();
  expect(findings).toMatchObject([{ kind: 'Node', name: 'worker-0', field: 'currentConfig', config: MISSING }]);
  expect(it.found).toEqual([MISSING]);
  expect(it.requestCount).toBe(1);
  it.configOfNode = [CONFIG];
  await it.check();
  expect(await it.check()).toEqual([]);
  expect(it.memory.messages()).toEqual([
    expect.stringMatching(/^dangling reference: Node worker-0/),
    'no longer dangling: Node worker-0 (currentConfig)',
  ]);
});

test.each([
  ['answers with the config', { metadata: { name: MISSING, creationTimestamp: NOW.toISOString() } }],
  ['is unreachable', new ApiUnreachable('x')],
  ['answers 404 without a reason', new ApiError(404, '', 'x')],
])('reports nothing and asks again if the API server %s', async (_title, answer) => {
  const it = new DetectorTest();
  it.configOfNode = [MISSING];
  it.answer = answer;
  await it.check();
  expect(await it.check()).toEqual([]);
  expect(it.requestCount).toBe(2);
});

/** A pool in its first roll-out. */
function createNewPool(name = 'infra', conditions: readonly object[] = []): PoolReferrer {
  return parsePoolReferrer({
    metadata: { name, creationTimestamp: NOW.toISOString() },
    spec: { configuration: { name: CONFIG } },
    status: { conditions },
  });
}

test('reports an empty status after 30 minutes, and at once if a node of the pool is known to dangle', async () => {
  const it = new DetectorTest();
  // The operator reports in the condition why it cannot render, such as an OSImageStream that is unknown.
  it.pools = [createNewPool(), createNewPool('worker', [{ type: 'RenderDegraded', status: 'True' }])];
  expect(await it.check()).toEqual([]);
  it.now = new Date(NOW.getTime() + 30 * 60_000);
  const finding = { kind: 'MachineConfigPool', name: 'infra', field: 'status', config: undefined };
  const explanation = expect.stringContaining('not updated all machines within 30 minutes');
  expect(await it.check()).toMatchObject([{ ...finding, explanation, since: it.now }]);

  it.now = NOW;
  it.configOfNode = [MISSING_INFRA];
  it.answer = { metadata: { name: MISSING_INFRA, creationTimestamp: NOW.toISOString() } };
  expect(await it.check()).toEqual([]);
  it.answer = NOT_FOUND;
  const stuckExplanation = expect.stringContaining('booting machines get none');
  expect(await it.check()).toMatchObject([{ kind: 'Node' }, { ...finding, explanation: stuckExplanation }]);
});

test('asks for nothing before the index is synced, and resolves if the signal aborts during a check', async () => {
  const it = new DetectorTest();
  it.configOfNode = [MISSING];
  it.isSynced = false;
  await it.check();
  expect(it.requestCount).toBe(0);
  it.isSynced = true;
  const stop = new AbortController();
  const checked = it.detector.check(stop.signal);
  stop.abort();
  await expect(checked).resolves.toBeUndefined();
});

test('lets other work run while it reads and reports thousands of references', async () => {
  const it = new DetectorTest();
  it.configOfNode = Array.from({ length: 2_000 }, () => MISSING);
  expect(await countTurns(it.check())).toBeGreaterThanOrEqual(8);
  expect(it.detector.findings).toHaveLength(2_000);
});

test('ends a check five seconds after the API server hangs', async () => {
  fakeUntilEnd('setTimeout', 'clearTimeout', 'performance');
  const it = new DetectorTest();
  let timedOutAfter = 0;
  const startedAt = performance.now();
  it.answer = async ({ signal }: ApiRequest) => {
    await once(signal, 'abort');
    timedOutAfter = performance.now() - startedAt;
    throw NOT_FOUND;
  };
  it.configOfNode = [MISSING];
  const checked = it.check();
  await vi.advanceTimersToNextTimerAsync();
  await checked;
  expect([it.requestCount, timedOutAfter]).toEqual([1, 5_000]);
});

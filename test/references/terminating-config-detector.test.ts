import { expect, test } from 'vitest';
import { ApiError, ApiUnreachable } from '../../src/kube/errors.ts';
import { parseNodeReferrer } from '../../src/references/parse-referrer.ts';
import { MACHINE_CONFIGS } from '../../src/references/sources.ts';
import {
  describeTerminating,
  TerminatingConfigDetector,
} from '../../src/references/terminating-config-detector.ts';
import { memoryLog } from '../support/log.ts';

const MCO = 'machineconfiguration.openshift.io';
const CONFIG = `rendered-worker-${'a'.repeat(32)}`;
const OTHER = `rendered-worker-${'b'.repeat(32)}`;

function configObject(uid: string, deletionTimestamp?: string | null) {
  return { metadata: { name: CONFIG, uid, creationTimestamp: '2026-11-21T12:00:00Z', deletionTimestamp } };
}

/** A detector in a cluster in which CONFIG is being deleted, and a node uses it. */
class DetectorTest {
  /** The config as the watch reports it. */
  watched = configObject('1', '2026-11-21T13:00:00Z');
  /** The answer to a GET. */
  answer: unknown = this.watched;
  configOfNode: Readonly<Record<string, string>> = { desiredConfig: CONFIG };
  isSynced = true;
  requestCount = 0;
  readonly found: string[] = [];
  readonly memory = memoryLog();
  readonly detector = new TerminatingConfigDetector({
    api: {
      json: async () => {
        this.requestCount += 1;
        if (this.answer instanceof Error) throw this.answer;
        return await Promise.resolve(this.answer);
      },
    },
    index: this,
    configs: {
      isSynced: true,
      terminating: () =>
        [MACHINE_CONFIGS.parse(this.watched)].filter(({ isTerminating }) => isTerminating),
    },
    log: this.memory.log,
    onFound: ({ uid }) => this.found.push(uid),
  });

  /** With `isSynced` the part of an index that a detector uses. */
  findReferrers(name: string) {
    const entries = Object.entries(this.configOfNode).map(([field, config]) => [
      `${MCO}/${field}`,
      config,
    ]);
    const annotations = Object.fromEntries(entries) as Record<string, string>;
    const node = parseNodeReferrer({ metadata: { name: 'w0', annotations } });
    return node.references.some(({ config }) => config === name) ? [node] : [];
  }

  async check() {
    await this.detector.check(new AbortController().signal);
    return this.detector.findings.map(describeTerminating);
  }
}

test('reports a config in use and being deleted once, and logs once that it no longer is', async () => {
  const it = new DetectorTest();
  await it.check();
  expect(await it.check()).toEqual([`${CONFIG}, referenced by node w0 (desiredConfig)`]);
  it.configOfNode = { currentConfig: CONFIG, desiredConfig: OTHER };
  expect(await it.check()).toEqual([`${CONFIG}, referenced by node w0 (currentConfig)`]);
  expect(it.found).toEqual(['1']);
  expect(it.requestCount).toBe(1);
  it.configOfNode = { currentConfig: OTHER, desiredConfig: OTHER };
  await it.check();
  expect(await it.check()).toEqual([]);
  expect(it.memory.messages()).toEqual([
    `in use and being deleted: ${CONFIG}, referenced by node w0 (desiredConfig)`,
    `no longer in use and being deleted: ${CONFIG}`,
  ]);
});

test.each([
  ['an unused config', { currentConfig: OTHER }],
  ['a config with weak references', { currentConfig: OTHER, firstPivotConfig: CONFIG }],
])('does not report %s', async (_title, configOfNode) => {
  const it = new DetectorTest();
  it.configOfNode = configOfNode;
  expect(await it.check()).toEqual([]);
  expect(it.requestCount).toBe(0);
});

test.each([undefined, null])('does not report a config whose deletionTimestamp is %s', async (time) => {
  const it = new DetectorTest();
  it.watched = configObject('1', time);
  expect(await it.check()).toEqual([]);
});

test.each([
  ['answers with a config that is not being deleted', configObject('1', null)],
  ['answers with a config that was created again', configObject('2', '2026-11-21T13:00:00Z')],
  ['answers that the config is gone', new ApiError(404, 'NotFound', 'x')],
  ['is unreachable', new ApiUnreachable('x')],
])('reports nothing and asks again if the API server %s', async (_title, answer) => {
  const it = new DetectorTest();
  it.answer = answer;
  await it.check();
  expect(await it.check()).toEqual([]);
  expect(it.requestCount).toBe(2);
  it.answer = it.watched;
  expect(await it.check()).toHaveLength(1);
});

test('reports a config again after it was created again', async () => {
  const it = new DetectorTest();
  await it.check();
  it.watched = configObject('2', '2026-11-21T14:00:00Z');
  it.answer = it.watched;
  await it.check();
  expect(it.found).toEqual(['1', '2']);
});

test('does not check before the index is synced', async () => {
  const it = new DetectorTest();
  it.isSynced = false;
  expect(await it.check()).toEqual([]);
});

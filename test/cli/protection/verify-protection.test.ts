import { beforeEach, describe, expect, test } from 'vitest';
import { ALLOW_DELETION_ANNOTATION } from '../../../src/decision/settings.ts';
import {
  type VerifyReport,
  verifyProtection,
  waitForProtection,
} from '../../../src/cli/protection/verify-protection.ts';
import { MACHINE_CONFIGS_PATH } from '../../../src/kube/api-paths.ts';
import { KubeApi } from '../../../src/kube/api.ts';
import { connectionFromKubeconfig } from '../../../src/kube/connection.ts';
import { annotate, createConfig, createNode, createPool, GONE, NEW, OLD } from '../inspected-cluster.ts';
import { startTestCluster, type TestCluster } from '../../support/test-cluster.ts';

const OVERRIDDEN = { annotations: { [ALLOW_DELETION_ANNOTATION]: '' } };
const TERMINATING = { deletionTimestamp: '2026-11-23T12:00:00Z' };

let cluster: TestCluster;
/** The path and the query of each deletion. */
let deletions: string[];

beforeEach(async () => {
  cluster = await startTestCluster();
  deletions = [];
  cluster.faults.intercept(({ method, path, query }) => {
    if (method === 'DELETE') deletions.push(`${path.slice(MACHINE_CONFIGS_PATH.length + 1)}?${query.toString()}`);
    return 'pass';
  });
});

async function verify(): Promise<VerifyReport> {
  return await verifyProtection(new KubeApi(connectionFromKubeconfig(cluster.kubeconfig)));
}

const DENIED = 'admission webhook "guard.machineconfig-guard.io" denied the request: ';

/** Answers the first deletions of a config, by default as if it had been deleted. */
function interceptDeletions(config: string, count: number, status = 404, message = 'gone'): void {
  let left = count;
  cluster.faults.intercept(({ method, path }) => {
    if (method !== 'DELETE' || !path.endsWith(config) || left === 0) return 'pass';
    left -= 1;
    return { status, body: { kind: 'Status', message } };
  });
}

describe('if there are two configs', () => {
  beforeEach(() => {
    createConfig(cluster, OLD);
    createConfig(cluster, NEW);
  });

  test('sends only dry runs, and tests first with a missing and an unused config', async () => {
    createNode(cluster, 'worker-0', { currentConfig: NEW });
    const { resourceVersion } = cluster;
    await verify();
    const proof = 'machineconfig-guard-verify?dryRun=Proof';
    expect(deletions).toEqual([proof, `${OLD}?dryRun=All`, `${NEW}?dryRun=All`]);
    expect(cluster.resourceVersion).toBe(resourceVersion);
  });

  test('prefers the config of a node, then of a pool, then of a build', async () => {
    cluster.create('machineosbuilds', { metadata: { name: 'b' }, spec: { machineConfig: { name: OLD } } });
    expect((await verify()).tried).toMatchObject({ config: OLD, kind: 'MachineOSBuild' });
    createPool(cluster, 'worker', { status: NEW });
    expect((await verify()).tried).toMatchObject({ config: NEW, kind: 'MachineConfigPool' });
    createNode(cluster, 'worker-0', { desiredConfig: OLD });
    const tried = {
      config: OLD,
      kind: 'Node',
      name: 'worker-0',
      field: 'desiredConfig',
    };
    expect((await verify()).tried).toEqual(tried);
  });

  test.each([
    ['a config with an empty allow-deletion annotation', OVERRIDDEN],
    ['a terminating config', TERMINATING],
  ])('skips %s', async (_title, metadata) => {
    createNode(cluster, 'worker-0', { currentConfig: OLD, desiredConfig: NEW });
    cluster.patch('machineconfigs', OLD, { metadata });
    expect((await verify()).tried).toMatchObject({ config: NEW });
    annotate(cluster, 'worker-0', { currentConfig: NEW });
    expect(await verify()).toMatchObject({ unused: null });
  });

  test('tries again if the config in use is gone, up to three times', async () => {
    createNode(cluster, 'worker-0', { currentConfig: NEW });
    interceptDeletions(NEW, 2);
    expect((await verify()).answer).toEqual({ status: 200, message: '' });
    interceptDeletions(NEW, 3);
    expect(await verify()).toMatchObject({
      protected: false,
      advice: { text: 'verify again', command: null },
    });
  });

  test.each([
    ['in use', NEW],
    ['unused', OLD],
  ])('is blocked only if the guard cannot verify the config %s three times', async (_use, config) => {
    createNode(cluster, 'worker-0', { currentConfig: NEW });
    const unverify = (count: number): void => interceptDeletions(config, count, 503, `${DENIED}MCG_UNVERIFIED: x`);
    unverify(2);
    expect(await verify()).toMatchObject({ state: 'EXPOSED', answer: { status: 200 } });
    unverify(3);
    if (config === OLD) interceptDeletions(NEW, 1, 403, `${DENIED}MCG_IN_USE: x`);
    expect(await verify()).toMatchObject({ state: 'BLOCKED' });
  });

  test('waits until the guard protects, through outages of the API server', async () => {
    createNode(cluster, 'worker-0', { currentConfig: NEW });
    cluster.faults.intercept(({ path }) => (path.endsWith('/nodes') ? { status: 503 } : 'pass'));
    const failures: unknown[] = [];
    const report = await waitForProtection(cluster.connect(), {
      timeoutMs: 100_000,
      onAnswer: () => {},
      onFailure: (error) => {
        if (failures.push(error) > 1) return;
        cluster.faults.clear();
        interceptDeletions(NEW, 1, 403, `${DENIED}MCG_IN_USE: x`);
      },
    });
    expect([report.state, failures.length > 0]).toEqual(['PROTECTED', true]);
  });

  test.each([
    ['until the timeout', 'Enforce', true],
    ['not at all if the mode does not deny', 'Warn', false],
  ])('waits %s', async (_case, mode, isWaiting) => {
    createNode(cluster, 'worker-0', { currentConfig: NEW });
    cluster.create('machineconfigguards', { metadata: { name: 'cluster' }, spec: { mode } });
    const states: string[] = [];
    const onReport = ({ state }: VerifyReport): void => void states.push(state);
    const options = { timeoutMs: 3_000, onAnswer: onReport, onFailure: () => {} };
    expect((await waitForProtection(cluster.connect(), options)).state).toBe('EXPOSED');
    expect(states.length > 1).toBe(isWaiting);
  });

  test('reports no trial of the unused config if it is gone', async () => {
    createNode(cluster, 'worker-0', { currentConfig: NEW });
    interceptDeletions(OLD, 1);
    expect(await verify()).toMatchObject({ unused: null, answer: { status: 200 } });
  });
});

test.each<[string, string, object, RegExp]>([
  ['there are only source configs', '99-worker', {}, /^no rendered MachineConfigs found$/],
  ['a node names a missing config', OLD, {}, /^no rendered MachineConfig is in use by a node or a pool$/],
  [
    'the config in use has the annotation',
    GONE,
    OVERRIDDEN,
    /except those that are terminating or have the allow-deletion annotation$/,
  ],
  ['the config in use is terminating', GONE, TERMINATING, /except those that are terminating or have the /],
])('if %s, tries nothing and explains why', async (_condition, name, metadata, explanation) => {
  cluster.create('machineconfigs', { metadata: { name, ...metadata } });
  createNode(cluster, 'worker-0', { currentConfig: GONE });
  const text = expect.stringMatching(explanation) as string;
  expect(await verify()).toMatchObject({ protected: false, tried: null, explanation: text });
});

import { beforeEach, describe, expect, test } from 'vitest';
import { ALLOW_DELETION_ANNOTATION } from '../../src/decision/settings.ts';
import { type VerifyReport, verifyProtection } from '../../src/inspect/verify.ts';
import { MACHINE_CONFIGS_PATH } from '../../src/kube/api-paths.ts';
import { KubeApi } from '../../src/kube/api.ts';
import { connectionFromKubeconfig } from '../../src/kube/connection.ts';
import { createConfig, createNode, createPool, GONE, NEW, OLD } from '../cli/inspected-cluster.ts';
import { startTestCluster, type TestCluster } from '../support/test-cluster.ts';

let cluster: TestCluster;
/** The path and the query of each deletion. */
let deletions: string[];

beforeEach(async () => {
  cluster = await startTestCluster();
  deletions = [];
  cluster.faults.intercept(({ method, path, query }) => {
    if (method === 'DELETE')
      deletions.push(`${path.slice(MACHINE_CONFIGS_PATH.length + 1)}?${query.toString()}`);
    return 'pass';
  });
});

async function verify(): Promise<VerifyReport> {
  return await verifyProtection(new KubeApi(connectionFromKubeconfig(cluster.kubeconfig)), () => {});
}

/** Answers the first deletions of a config as if it had been deleted. */
function interceptDeletions(config: string, count: number): void {
  let left = count;
  cluster.faults.intercept(({ method, path }) => {
    if (method !== 'DELETE' || !path.endsWith(config) || left === 0) return 'pass';
    left -= 1;
    return { status: 404, body: { kind: 'Status', message: 'gone' } };
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

  test('skips a config with an empty allow-deletion annotation', async () => {
    createNode(cluster, 'worker-0', { currentConfig: OLD, desiredConfig: NEW });
    const annotations = { [ALLOW_DELETION_ANNOTATION]: '' };
    cluster.patch('machineconfigs', OLD, { metadata: { annotations } });
    expect((await verify()).tried).toMatchObject({ config: NEW });
  });

  test('tries again if the config in use is gone, up to three times', async () => {
    createNode(cluster, 'worker-0', { currentConfig: NEW });
    interceptDeletions(NEW, 2);
    expect((await verify()).answer).toEqual({ status: 200, message: '' });
    interceptDeletions(NEW, 3);
    expect(await verify()).toMatchObject({ protected: false, advice: 'run verify again' });
  });

  test('reports no trial of the unused config if it is gone', async () => {
    createNode(cluster, 'worker-0', { currentConfig: NEW });
    interceptDeletions(OLD, 1);
    expect(await verify()).toMatchObject({ unused: null, answer: { status: 200 } });
  });
});

test.each<[string, string, Record<string, string>, RegExp]>([
  ['there are only source configs', '99-worker', {}, /^no rendered MachineConfigs found$/],
  ['a node names a missing config', OLD, {}, /^no rendered MachineConfig is in use by a node or a pool$/],
  [
    'the config in use has the annotation',
    GONE,
    { [ALLOW_DELETION_ANNOTATION]: 'x' },
    /except those with the allow-deletion annotation$/,
  ],
])('if %s, tries nothing and explains why', async (_condition, name, annotations, explanation) => {
  cluster.create('machineconfigs', { metadata: { name, annotations } });
  createNode(cluster, 'worker-0', { currentConfig: GONE });
  const text = expect.stringMatching(explanation) as string;
  expect(await verify()).toMatchObject({ protected: false, tried: null, explanation: text });
});

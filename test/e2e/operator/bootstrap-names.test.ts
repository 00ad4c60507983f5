import { stringify } from 'yaml';
import { afterAll, expect, test } from 'vitest';
import { findProblems } from '../../../src/manifests/find-problems.ts';
import type { KubeObject } from '../control-plane/kube-client.ts';
import { MCO, PATHS } from '../support/objects.ts';
import type { ManifestsReport } from '../../../src/manifests/format-report.ts';
import { runProgram } from '../../cli/run-program.ts';
import { DIGEST_MIRRORS, renderBootstrap, writeManifests } from './bootstrap-host.ts';
import { findOperatorObject } from './operator-objects.ts';
import { OperatorCluster } from './operator-cluster.ts';

const KUBELET_CONFIG = {
  apiVersion: `${MCO}/v1`,
  kind: 'KubeletConfig',
  metadata: { name: 'max-pods' },
  spec: {
    machineConfigPoolSelector: { matchLabels: { [`pools.operator.${MCO}/worker`]: '' } },
    kubeletConfig: { maxPods: 321 },
  },
};
const KUBELET_CONFIGS = PATHS.configs.replace('/machineconfigs', '/kubeletconfigs');
const KUBELET_CONFIG_PATH = `${KUBELET_CONFIGS}/${KUBELET_CONFIG.metadata.name}`;
const WRITTEN_NAME = /^\d\d-(?:master|worker)(?:-|$)/;
/** What the bootstrap host finds besides the manifests of a user. */
const CLUSTER_KINDS = ['ControllerConfig', 'FeatureGate', 'Secret'];
const GENERATED_NAME = '99-worker-generated-kubelet';

const operator = await OperatorCluster.shared();
const { binaries, installed, admin } = operator;
const { directory } = installed.controlPlane;
const before = await operator.awaitUpdated('worker');

// Other pools have the sources of pool `worker`, and later ones of their own, which replace its KubeletConfig. So a
// pool of another test would be rendered once more.
afterAll(async () => {
  await admin.delete(KUBELET_CONFIG_PATH);
  await operator.awaitPool('worker', `rendered ${before}`, ({ spec }) => spec.configuration?.name === before);
});

/** The operator replaces only the Ignition config of some objects with its names. */
function createConfig(name: string, role: string) {
  const metadata = { name, labels: { [`${MCO}/role`]: role } };
  const storage = { files: [{ path: `/etc/${name}`, contents: { source: 'data:,a' } }] };
  const spec = { config: { ignition: { version: '3.4.0' }, storage } };
  return { apiVersion: `${MCO}/v1`, kind: 'MachineConfig', metadata, spec };
}

/** The names that the bootstrap host renders with these objects and those of the cluster. */
async function render(...objects: readonly object[]) {
  const documents = [DIGEST_MIRRORS, ...objects].map((object, index) => [`${index}.yaml`, [object]] as const);
  return renderBootstrap(binaries, await writeManifests(directory, Object.fromEntries(documents)));
}

function findCodes(...objects: readonly object[]): string[] {
  const files = objects.map((object, index) => ({ path: `${index}.yaml`, content: Buffer.from(stringify(object)) }));
  const input = { installer: undefined, hasFolders: true, installConfig: undefined, files };
  const { problems } = findProblems(input, '4.20');
  return problems.map(({ severity, code }) => `${severity} ${code}`);
}

/** Creates what an install created before the operator came, and waits until the pool has a config of this name. */
async function installBefore(objects: readonly KubeObject[], expected: string): Promise<void> {
  await operator.stopController();
  for (const object of objects) {
    const path = object.kind === 'MachineConfig' ? PATHS.configs : KUBELET_CONFIGS;
    await admin.delete(`${path}/${object.metadata.name}`);
    await admin.create(path, object);
  }
  await operator.startController();
  await operator.awaitPool('worker', `rendered ${expected}`, ({ spec }) => spec.configuration?.name === expected);
}

test('reports the names that the operator writes: it replaces what only the bootstrap host renders', async () => {
  const base = await render();
  const inCluster = (await admin.list(PATHS.configs)).map(({ metadata }) => metadata.name);
  const written = [...new Set([...base.sources, ...inCluster])].filter((name) => WRITTEN_NAME.test(name));
  expect(written.length).toBeGreaterThan(10);
  const configs = written.map((name) => createConfig(name, name.includes('master') ? 'master' : 'worker'));
  for (const config of configs) expect([config, findCodes(config)]).toEqual([config, ['error OperatorName']]);
  const { sources } = await render(...configs);
  const isRenderedTwice = (name: string) => sources.filter((source) => source === name).length === 2;
  expect(written.filter((name) => name.includes('worker') && !isRenderedTwice(name))).toEqual([]);
  const others = [createConfig('99-worker-a', 'worker')];
  const expected = (await render(...others)).names.find((name) => name.startsWith('rendered-worker-')) ?? '';
  expect(base.names).not.toContain(expected);
  const replaced = written.filter((name) => inCluster.includes(name) && name.includes('worker'));

  await installBefore([...replaced.map((name) => createConfig(name, 'worker')), ...others], expected);

  for (const { metadata } of others) await admin.delete(`${PATHS.configs}/${metadata.name}`);
  await operator.awaitPool('worker', 'as before', ({ spec }) => base.names.includes(spec.configuration?.name ?? ''));
});

test('reports the name of the config for a KubeletConfig only beside one', async () => {
  const config = createConfig(GENERATED_NAME, 'worker');
  expect([findCodes(config), findCodes(KUBELET_CONFIG, config)]).toEqual([[], ['error OperatorName']]);
  const { names } = await render(KUBELET_CONFIG);
  const expected = names.find((name) => name.startsWith('rendered-worker-')) ?? '';
  expect((await render(KUBELET_CONFIG, config)).names).not.toContain(expected);
  await installBefore([KUBELET_CONFIG, config], expected);
});

test('prints the names of the cluster for a directory that has all that they depend on', async () => {
  const objects = [...CLUSTER_KINDS.map(findOperatorObject), DIGEST_MIRRORS, KUBELET_CONFIG];
  const documents = objects.map((object, index) => [`openshift/${index}.yaml`, [object]] as const);
  const manifests = await writeManifests(directory, Object.fromEntries(documents));
  const args = ['check', 'manifests', manifests, '--operator', binaries, '--output', 'json'];
  const { stdout } = await runProgram(args);
  const { renders, hasRealNames } = JSON.parse(stdout) as ManifestsReport;
  const real = await render(KUBELET_CONFIG);
  const names = renders?.map(({ bootstrap, cluster }) => [bootstrap, cluster]);
  expect({ hasRealNames, names: names?.toSorted() }).toEqual({
    hasRealNames: true,
    names: real.names.map((name) => [name, name]),
  });

  // The test before can have created it.
  if ((await admin.find(KUBELET_CONFIG_PATH)) === undefined) await admin.create(KUBELET_CONFIGS, KUBELET_CONFIG);
  const worker = real.names.find((name) => name.startsWith('rendered-worker-'));
  await operator.awaitPool('worker', `rendered ${worker}`, ({ spec }) => spec.configuration?.name === worker);
});

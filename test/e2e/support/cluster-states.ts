import { buildState, getState, listContents } from '../../diagnosis/states.ts';
import type { KubeObject } from '../control-plane/kube-client.ts';
import { expectStatus } from '../control-plane/kube-client.ts';
import { pause } from '../control-plane/until.ts';
import type { InstalledCluster } from './installed-cluster.ts';
import { MCO, nodePatch, PATHS, readAnnotations } from './objects.ts';

const CONFIG_MAPS = `${PATHS.namespaces}/kube-system/configmaps`;
const OS_CONFIGS = `/apis/${MCO}/v1/machineosconfigs`;
const POLL_MS = 100;

type Installed = Pick<InstalledCluster, 'cluster'>;

/** Creates the objects of a state in test/diagnosis/states.ts on a real API server, without their managedFields. */
export async function createState({ cluster: { admin } }: Installed, name: string): Promise<void> {
  const state = getState(name);
  const { nodes, pools, builds, osConfigs, configs } = buildState(state, new Date());
  const create = async (collection: string, apiVersion: string, kind: string, object: object) => {
    const { metadata, spec, status } = object as KubeObject;
    const { name: own, labels, annotations } = metadata;
    const body = { apiVersion, kind, metadata: { name: own, labels, annotations }, spec };
    await admin.create(collection, body);
    if (status !== undefined) await admin.patch(`${collection}/${own}/status`, { status });
  };
  const version = `${MCO}/v1`;
  const references = JSON.stringify([nodes, pools, builds]);
  const contents = listContents().filter((content) => configs.has(content.name) && references.includes(content.name));
  for (const { name: config, spec } of contents) {
    await create(PATHS.configs, version, 'MachineConfig', { metadata: { name: config }, spec });
  }
  for (const pool of pools) await create(PATHS.pools, version, 'MachineConfigPool', pool);
  for (const node of nodes) await create(PATHS.nodes, 'v1', 'Node', node);
  for (const osConfig of osConfigs) await create(OS_CONFIGS, version, 'MachineOSConfig', completeOsConfig(osConfig));
  for (const build of builds) await create(PATHS.builds, version, 'MachineOSBuild', completeBuild(build));

  const installConfig = `${CONFIG_MAPS}/cluster-config-v1`;
  expectStatus(await admin.delete(installConfig), [200, 404], `DELETE ${installConfig}`);
  if (state.controlPlane === undefined) return;
  const { masters, arbiters } = state.controlPlane;
  const data = { 'install-config': `controlPlane: { replicas: ${masters} }\narbiter: { replicas: ${arbiters} }\n` };
  await admin.create(CONFIG_MAPS, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'cluster-config-v1' },
    data,
  });
}

/** Removes the MachineOSConfigs. `InstalledCluster.clear` removes the other objects. */
export async function clearStates({ cluster: { admin } }: Installed): Promise<void> {
  expectStatus(await admin.delete(OS_CONFIGS), [200], `DELETE ${OS_CONFIGS}`);
}

/** The CRD requires fields that no diagnosis reads. */
function completeOsConfig({ metadata, spec }: object & { metadata?: unknown; spec?: unknown }): object {
  return {
    metadata,
    spec: {
      ...(spec as object),
      imageBuilder: { imageBuilderType: 'Job' },
      renderedImagePushSecret: { name: 'push' },
      renderedImagePushSpec: 'registry.example.com/os:latest',
    },
  };
}

function completeBuild({ status, ...build }: object & { status?: unknown; spec?: unknown }): object {
  const { conditions } = status as { readonly conditions: readonly { readonly type: string }[] };
  const complete = conditions.map((condition) => ({ ...condition, reason: 'Test' }));
  const spec = { ...(build.spec as object), renderedImagePushSpec: 'registry.example.com/os:tag' };
  return { ...build, spec, status: { conditions: complete } };
}

/**
 * Lets each Degraded node be Done as soon as its configs exist, until the step ends. Real daemons are in
 * test/e2e/operator.
 */
export async function whileNodesRecover<Result>(
  { cluster: { admin } }: Installed,
  step: Promise<Result>,
): Promise<Result> {
  const ended = new AbortController();
  const recover = async () => {
    for (; !ended.signal.aborted; await pause(POLL_MS)) {
      const configs = new Set((await admin.list(PATHS.configs)).map(({ metadata }) => metadata.name));
      for (const node of await admin.list(PATHS.nodes)) {
        const { state, currentConfig = '', desiredConfig = '' } = readAnnotations(node);
        if (state !== 'Degraded' || !configs.has(currentConfig) || !configs.has(desiredConfig)) continue;
        await admin.patch(`${PATHS.nodes}/${node.metadata.name}`, nodePatch({ state: 'Done', reason: '' }));
      }
    }
  };
  const [result] = await Promise.all([step.finally(() => ended.abort()), recover()]);
  return result;
}

import type { ControlPlane } from '../e2e/control-plane/control-plane.ts';
import type { KubeClient } from '../e2e/control-plane/kube-client.ts';
import { until } from '../e2e/control-plane/until.ts';
import { unique } from '../e2e/support/cluster.ts';
import { BINDINGS, refusalOf } from '../e2e/support/floor.ts';
import { kubectlOk } from '../e2e/support/kubectl.ts';
import { machineConfig, node, pool, renderedName } from '../e2e/support/objects.ts';
import { overlay } from '../e2e/support/overlays.ts';
import { PATHS } from '../e2e/support/paths.ts';
import { labelsOf } from './bench-cluster.ts';
import { deleteDryRun } from './deletions.ts';

/** An API server looks for new kinds every 30 seconds. Until then the policy for pools denies every deletion. */
const EFFECTIVE_TIMEOUT_MS = 60_000;

/** Applies overlays/policy-floor. Both policies only check the configs of the candidate. */
export async function applyFloor(controlPlane: ControlPlane, candidate: string): Promise<void> {
  await kubectlOk(controlPlane, ['apply', '--kustomize', overlay('policy-floor')]);
  const objectSelector = { matchLabels: labelsOf(candidate) };
  for (const policy of ['nodes', 'pools']) {
    const path = `${BINDINGS}/${policy}.machineconfig-guard.io`;
    await controlPlane.apiServer.admin.patch(path, { spec: { matchResources: { objectSelector } } });
  }
}

/** Waits until this API server enforces both policies. The nodes and pools are the same afterwards. */
export async function awaitFloor(admin: KubeClient, candidate: string): Promise<void> {
  const labels = labelsOf(candidate);
  const [name, nodeConfig, poolConfig] = [unique('probe'), renderedName('probe'), renderedName('probe')];
  await admin.create(PATHS.configs, machineConfig({ name: nodeConfig, labels }));
  await admin.create(PATHS.configs, machineConfig({ name: poolConfig, labels }));
  await admin.create(PATHS.nodes, node({ name, currentConfig: nodeConfig }));
  await admin.create(PATHS.pools, pool({ name, spec: poolConfig }));
  for (const [policy, config] of Object.entries({ nodes: nodeConfig, pools: poolConfig })) {
    const isDenied = async () => refusalOf(await deleteDryRun(admin, config))?.policy === policy;
    await until(`the policy of ${policy}`, isDenied, { timeoutMs: EFFECTIVE_TIMEOUT_MS });
  }
  await admin.delete(`${PATHS.nodes}/${name}`);
  await admin.delete(`${PATHS.pools}/${name}`);
}

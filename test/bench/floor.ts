import type { ControlPlane } from '../e2e/control-plane/control-plane.ts';
import type { KubeClient } from '../e2e/control-plane/kube-client.ts';
import { until } from '../e2e/control-plane/until.ts';
import { unique } from '../e2e/support/cluster.ts';
import { BINDINGS, policyDenialOf } from '../e2e/support/floor.ts';
import { kubectlOk } from '../e2e/support/kubectl.ts';
import { machineConfig, node, pool, renderedName } from '../e2e/support/objects.ts';
import { overlay } from '../e2e/support/overlays.ts';
import { PATHS } from '../e2e/support/paths.ts';

const POLICIES = ['nodes', 'pools'] as const;
/** An API server looks for new kinds every 30 seconds; until then the policy of pools refuses everything. */
const EFFECTIVE_TIMEOUT_MS = 60_000;

/** Applies overlays/policy-floor as a person would; with labels, both policies look only at configs that carry them. */
export async function applyFloor(controlPlane: ControlPlane, labels?: Readonly<Record<string, string>>): Promise<void> {
  await kubectlOk(controlPlane, ['apply', '--kustomize', overlay('policy-floor')]);
  if (labels === undefined) return;
  for (const policy of POLICIES) {
    await controlPlane.apiServer.admin.patch(`${BINDINGS}/${policy}.machineconfig-guard.io`, {
      spec: { matchResources: { objectSelector: { matchLabels: labels } } },
    });
  }
}

/** Waits until both policies are in force at this API server. What it makes for that is gone when it returns. */
export async function awaitFloor(admin: KubeClient, labels: Readonly<Record<string, string>> = {}): Promise<void> {
  const [byNode, byPool] = [renderedName('probe'), renderedName('probe')];
  const probe = unique('probe');
  for (const name of [byNode, byPool]) await admin.create(PATHS.configs, machineConfig({ name, labels }));
  await admin.create(PATHS.nodes, node({ name: probe, currentConfig: byNode }));
  await admin.create(PATHS.pools, pool({ name: probe, spec: byPool }));
  const refusedBy = async (config: string) =>
    policyDenialOf(await admin.delete(`${PATHS.configs}/${config}`, { dryRun: 'All' }))?.policy;
  for (const [config, policy] of [
    [byNode, 'nodes'],
    [byPool, 'pools'],
  ] as const) {
    await until(`the policy of ${policy}`, async () => (await refusedBy(config)) === policy, {
      timeoutMs: EFFECTIVE_TIMEOUT_MS,
    });
  }
  for (const path of [`${PATHS.nodes}/${probe}`, `${PATHS.pools}/${probe}`]) await admin.delete(path);
  for (const config of [byNode, byPool]) {
    const isGone = async () => [200, 404].includes((await admin.delete(`${PATHS.configs}/${config}`)).status);
    await until(`the deletion of ${config}`, isGone, { timeoutMs: 10_000 });
  }
}

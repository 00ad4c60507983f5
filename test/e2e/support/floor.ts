import { statusOf, type KubeResponse } from '../control-plane/kube-client.ts';
import { until } from '../control-plane/until.ts';
import { auditedVerdicts, type AuditEvent } from './audit-log.ts';
import { unique } from './cluster.ts';
import type { InstalledCluster } from './installed-cluster.ts';

/** How the API server introduces a policy's refusal. */
const SAID =
  /ValidatingAdmissionPolicy '(\w+)\.machineconfig-guard\.io' with binding '\1\.machineconfig-guard\.io' denied request: (.*)$/s;

/** Which of the two policies refused, and what it said. */
export function refusalOf(response: KubeResponse): { readonly policy: string; readonly message: string } | undefined {
  const match = SAID.exec(statusOf(response).message ?? '');
  return match === null ? undefined : { policy: match[1] ?? '', message: match[2] ?? '' };
}

/** What a policy wrote under its keys in this event. */
export function auditedBy(policy: 'nodes' | 'pools', event: AuditEvent): ReturnType<typeof auditedVerdicts> {
  return auditedVerdicts(event, `${policy}.machineconfig-guard.io`);
}

/** Applies the floor and waits until both policies are in force. */
export async function applyFloor(installed: InstalledCluster): Promise<void> {
  await installed.applyOverlay('policy-floor');
  await awaitFloor(installed);
}

/** Asks, without deleting anything, until each of the two refuses by itself. */
export async function awaitFloor(installed: InstalledCluster): Promise<void> {
  const { cluster } = installed;
  const [byNode, byPool] = [await cluster.config(), await cluster.config()];
  await cluster.node({ name: unique('floor'), currentConfig: byNode });
  await cluster.pool({ name: unique('floor'), spec: byPool });
  for (const [config, policy] of [
    [byNode, 'nodes'],
    [byPool, 'pools'],
  ] as const) {
    await until(`the policy of ${policy}`, async () => refusalOf(await installed.dryRun(config))?.policy === policy, {
      timeoutMs: 60_000,
    });
  }
}

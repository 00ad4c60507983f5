import { statusOf, type KubeResponse } from '../control-plane/kube-client.ts';
import { until } from '../control-plane/until.ts';
import { auditedVerdicts, type AuditEvent } from './audit-log.ts';
import { unique } from './cluster.ts';
import { InstalledCluster } from './installed-cluster.ts';
import { runBinaries } from './run-binaries.ts';

/** How the API server introduces a policy's refusal. */
const SAID =
  /ValidatingAdmissionPolicy '(\w+)\.machineconfig-guard\.io' with binding '\1\.machineconfig-guard\.io' denied request: (.*)$/s;

/** Where the API server keeps the binding that switches a policy. */
export const BINDINGS = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings';

/** Which of the two policies refused, and what it said. */
export function refusalOf(response: KubeResponse): { readonly policy: string; readonly message: string } | undefined {
  const match = SAID.exec(statusOf(response).message ?? '');
  return match === null ? undefined : { policy: match[1] ?? '', message: match[2] ?? '' };
}

/** What a policy wrote under its keys in this event. */
export function auditedBy(policy: 'nodes' | 'pools', event: AuditEvent): ReturnType<typeof auditedVerdicts> {
  return auditedVerdicts(event, `${policy}.machineconfig-guard.io`);
}

/**
 * Waits until these policies know who has this config: they learn of a write a moment after it has been acknowledged, and what is
 * decided in between is a matter of chance (see test/bench/benches/race.ts), not of these tests.
 */
export async function awaitKnown(
  installed: InstalledCluster,
  config: string,
  policies: readonly ('nodes' | 'pools')[],
): Promise<void> {
  const isKnown = async () => {
    const event = await installed.cluster.auditEvent(await installed.dryRun(config));
    return policies.every((policy) => Object.keys(auditedBy(policy, event)).length > 0);
  };
  await until(`the policies of ${policies.join(' and ')} to know of ${config}`, isKnown, {
    timeoutMs: 5_000,
    everyMs: 20,
  });
}

/** A cluster with the floor in force and no guard. */
export async function startFloor(): Promise<InstalledCluster> {
  const installed = await InstalledCluster.start(await runBinaries());
  await installed.applyOverlay('policy-floor');
  await awaitFloor(installed);
  return installed;
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

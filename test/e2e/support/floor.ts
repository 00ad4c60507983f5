import { statusOf, type KubeResponse } from '../control-plane/kube-client.ts';
import { until } from '../control-plane/until.ts';
import { auditedVerdicts, type AuditEvent } from './audit-log.ts';
import type { Cluster } from './cluster.ts';
import { PATHS } from './objects.ts';

/** The text of the API server, followed by the policy's message. */
const DENIAL = new RegExp(
  String.raw`ValidatingAdmissionPolicy '(?<policy>\w+)\.machineconfig-guard\.io' with binding ` +
    String.raw`'\k<policy>\.machineconfig-guard\.io' denied request: (?<message>.*)$`,
  's',
);

export type Policy = 'nodes' | 'pools';

/** API path of the bindings that switch the policies. */
export const BINDINGS = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings';

/** The policy that denied, and its message; undefined if no policy denied. */
export function policyDenialOf(response: KubeResponse) {
  const [, policy, message] = DENIAL.exec(statusOf(response).message ?? '') ?? [];
  return policy && message ? { policy, message } : undefined;
}

/** The values that a policy wrote into an audit event. */
export function auditedByPolicy(policy: Policy, event: AuditEvent) {
  return auditedVerdicts(event, `${policy}.machineconfig-guard.io`);
}

/** Waits until these policies see the references to a config, a moment after their acknowledgement. */
export async function awaitReferences(cluster: Cluster, config: string, policies: readonly Policy[]) {
  const isSeen = async () => {
    const event = await cluster.auditEvent(await cluster.dryRun(config));
    return policies.every((policy) => Object.keys(auditedByPolicy(policy, event)).length > 0);
  };
  await until(`${policies.join(' and ')} to see ${config}`, isSeen, { everyMs: 20 });
}

/** Waits until each policy denies by itself. */
export async function awaitFloor(cluster: Cluster) {
  const [ofNode, ofPool] = [await cluster.config(), await cluster.config()];
  const node = await cluster.node({ currentConfig: ofNode });
  const pool = await cluster.pool({ spec: ofPool });
  for (const [policy, config] of Object.entries({ nodes: ofNode, pools: ofPool })) {
    const isDenied = async () => policyDenialOf(await cluster.dryRun(config))?.policy === policy;
    await until(`the policy of ${policy}`, isDenied);
  }
  await cluster.admin.delete(`${PATHS.nodes}/${node}`);
  await cluster.admin.delete(`${PATHS.pools}/${pool.metadata.name}`);
}

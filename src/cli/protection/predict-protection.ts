import { type Advice, advise } from '../../client/output/advice.ts';
import type { StoredGuard } from '../../client/guard-report.ts';
import type { ReferrerKind } from '../../decision/references.ts';
import { ADMISSION_POLICIES } from '../../install/webhook-configuration.ts';
import { type Evidence, findMainWebhook } from './evidence.ts';
import { type Finding, INSTALL_ADVICE, toFinding } from './protection.ts';

/** The condition CertificatesValid. */
export interface CertificateState {
  readonly valid: boolean;
  readonly reason: string;
  readonly message: string;
}

/** The clocks of this machine and of the guard can differ. */
const CLOCK_TOLERANCE_MS = 60_000;
const ENFORCE_ADVICE = advise(
  'set the mode Enforce',
  ['oc', 'patch', 'mcguard', 'cluster', '--type=merge'],
  ['-p', '{"spec":{"mode":"Enforce"}}'],
);
/** `status` tests nothing. */
export const VERIFY_ADVICE = advise('prove the state by a dry-run deletion', ['machineconfig-guard', 'verify']);

/** What the guard does with the deletion of a config in use, as far as the objects of the cluster tell. */
export function predictGuard(evidence: Evidence): Finding {
  const { guard, mode, webhooks, deployment, lease, readAt } = evidence;
  if (webhooks === undefined) {
    const reason = 'you may not list validatingwebhookconfigurations, so it is unknown whether the guard is installed';
    return toFinding('unknown', reason, advise('ask for the ClusterRole machineconfig-guard-reader'));
  }
  const webhook = findMainWebhook(evidence);
  if (webhook === undefined) return toFinding('allows', 'the guard is not installed', INSTALL_ADVICE);
  // Deployment, Lease, mode and status are those of the manifests.
  if (webhook.installation === 'dev') {
    const reason = 'only the command dev is registered, and the cluster does not show whether it runs';
    return toFinding('unknown', reason, VERIFY_ADVICE);
  }
  if (mode !== null && mode !== 'Enforce')
    return toFinding('allows', `the mode of the guard is ${mode}`, ENFORCE_ADVICE);
  const failure = findCallFailure(evidence) ?? findExpiry(guard);
  if (failure !== undefined && webhook.failurePolicy === 'Ignore') {
    return toFinding('allows', `${failure.reason}, and its failurePolicy is Ignore`, failure.advice);
  }
  if (failure !== undefined) return failure;
  const hasLeader = lease !== undefined && lease !== null;
  if (hasLeader && readAt.getTime() > Date.parse(lease.renewedAt) + lease.durationMs + CLOCK_TOLERANCE_MS) {
    const reason = `the leader has not renewed its Lease since ${lease.renewedAt}, so the guard may be cut off`;
    return toFinding('unknown', reason, VERIFY_ADVICE);
  }
  if (hasLeader || (deployment?.readyReplicas ?? 0) > 0) {
    return toFinding('denies', 'the guard is registered, and a replica runs');
  }
  const reason = 'the webhook is registered, but no Deployment or Lease that you may read shows that the guard runs';
  return toFinding('unknown', reason, VERIFY_ADVICE);
}

/**
 * @param kinds the referrers of the config. Each policy checks one kind, and none checks builds.
 * @returns undefined if the floor is not installed
 */
export function predictFloor(
  { floor }: Evidence,
  kinds: readonly ReferrerKind[] = ['Node', 'MachineConfigPool'],
): Finding | undefined {
  if (floor === undefined) return toFinding('unknown', 'you may not read the bindings of the policy floor');
  if (floor.length === 0) return undefined;
  for (const kind of kinds) {
    const policy = ADMISSION_POLICIES[kind];
    if (policy === undefined) return toFinding('allows', 'the policies do not check MachineOSBuilds', INSTALL_ADVICE);
    if (floor.some((binding) => binding.policy === policy && binding.actions.includes('Deny'))) continue;
    const advice = advise('apply the policy floor', ['oc', 'apply', '-k', 'manifests/overlays/policy-floor']);
    return toFinding('allows', `the policy ${policy} has no binding with the action Deny`, advice);
  }
  return toFinding('denies', 'the policy floor is active');
}

/** @param message the API server's error about its call */
export function diagnoseCallFailure(message: string, evidence: Evidence): Finding {
  if (message.includes('x509:')) {
    return toFinding('blocks', "the API server does not trust the guard's certificate", adviseOnTrust(evidence));
  }
  if (/no endpoints available|(?:service|endpoints) "[^"]+" not found|no service port/.test(message)) {
    return findCallFailure(evidence) ?? toMissingPod(evidence);
  }
  return toFinding('blocks', 'the API server cannot reach the guard', adviseOnCalls(evidence));
}

export function adviseOnCalls(evidence: Evidence): Advice {
  const { installation, configuration = '' } = findMainWebhook(evidence) ?? {};
  if (installation === 'dev') return adviseRemoval('start the command dev again', configuration);
  return advise('look at the pods and the addresses of the Service; with --host-network, open port 9843 of the nodes', [
    'oc',
    'get',
    'pods,endpointslices',
    '-n',
    evidence.namespace,
  ]);
}

/** Null if the guard has not reported it. */
export function findCertificates(guard: StoredGuard | null | undefined): CertificateState | null {
  const condition = guard?.status?.conditions?.find(({ type }) => type === 'CertificatesValid');
  if (condition === undefined) return null;
  const { status, reason, message } = condition;
  return { valid: status === 'True', reason, message };
}

function findCallFailure(evidence: Evidence): Finding | undefined {
  const { namespace, deployment } = evidence;
  const { caBundle = true, target = '', configuration = '' } = findMainWebhook(evidence) ?? {};
  // Without a caBundle, the API server checks the certificate of a URL with the CAs of its host.
  if (!caBundle && target.startsWith('Service ')) {
    return toFinding('blocks', 'the webhook has no caBundle', adviseOnTrust(evidence));
  }
  // The Deployment says nothing about a webhook with a URL or of another namespace.
  if (!target.startsWith(`Service ${namespace}/`)) return undefined;
  if (deployment === null) {
    const advice = adviseRemoval('install the guard again', configuration);
    return toFinding('blocks', 'the Deployment of the guard does not exist', advice);
  }
  return deployment?.readyReplicas === 0 ? toMissingPod(evidence) : undefined;
}

function toMissingPod({ namespace }: Evidence): Finding {
  return toFinding(
    'blocks',
    'no guard pod is ready',
    advise('look at the pods', ['oc', 'get', 'pods', '-n', namespace]),
  );
}

function findExpiry(guard: StoredGuard | null | undefined): Finding | undefined {
  const certificates = findCertificates(guard);
  if (certificates?.valid !== false) return undefined;
  const advice = advise('see docs/runbooks/MachineConfigGuardCertificateExpiring.md');
  return toFinding('blocks', `a certificate of the guard has expired (${certificates.message})`, advice);
}

/** For a webhook without a caBundle, or with another one than that of the guard. */
function adviseOnTrust(evidence: Evidence): Advice {
  const { installation } = findMainWebhook(evidence) ?? {};
  const wait = 'wait until the caBundle is injected; if it is not, look at the injector';
  if (installation === 'service-ca') return advise(wait, ['oc', 'get', 'pods', '-n', 'openshift-service-ca']);
  if (installation === 'cert-manager') return advise(wait, ['oc', 'get', 'certificates', '-n', evidence.namespace]);
  return advise('apply all manifests of one rendering again');
}

function adviseRemoval(text: string, configuration: string): Advice {
  const command = ['oc', 'delete', 'validatingwebhookconfiguration', configuration];
  return advise(`${text}, or remove its webhook`, command);
}

import { type Advice, advise } from '../../client/output/advice.ts';
import type { ReferrerKind } from '../../decision/references.ts';
import { ALLOW_DELETION_ANNOTATION } from '../../decision/settings.ts';
import { ADMISSION_POLICIES, WEBHOOK_NAME } from '../../install/webhook-configuration.ts';
import { INSTALLED_NAME } from '../../kube/api-paths.ts';
import { type DryRun, type DryRunAnswer, parseAnswer } from './dry-run-deletion.ts';
import { type Evidence, findCondition, findMainWebhook } from './evidence.ts';

/** What the guard, the policy floor or another component does with the deletion of a config in use. */
export interface Finding {
  /** `blocks`: it denies, but for a cause that denies every deletion of a rendered config. */
  readonly effect: 'denies' | 'blocks' | 'allows' | 'unknown';
  /** A clause. */
  readonly reason: string;
  readonly advice: Advice | null;
  /** How to delete a config while every deletion is denied. */
  readonly wayOut?: Advice | null;
  /** Whether a dry run shows it. */
  readonly isSeen?: boolean;
}

export const INSTALL_ADVICE = advise('install the guard (docs/install.md)');
/** `status` sends no dry run. */
export const VERIFY_ADVICE = advise('see what a dry-run deletion shows', ['machineconfig-guard', 'verify']);
const ENFORCE_ADVICE = advise(
  'set the mode Enforce',
  ['oc', 'patch', 'mcguard', 'cluster', '--type=merge'],
  ['-p', '{"spec":{"mode":"Enforce"}}'],
);
/** A policy needs some seconds for a new binding, and up to a minute after a restart or a change of a CRD. */
const LIST_POLICIES = ['oc', 'get', 'validatingadmissionpolicies', '-o', 'yaml'];
const POLICY_ADVICE = advise('wait a minute; if it stays, look at the status of the policies', LIST_POLICIES);
const LOG_ADVICE = advise("retry; then check the guard's logs, its RBAC and its connection to the API server");
/** The guard answers, so it reads the annotation. */
const ANNOTATE = ['oc', 'annotate', 'machineconfig', 'NAME', `${ALLOW_DELETION_ANNOTATION}=REASON`];
const BREAK_GLASS = advise('to delete a config meanwhile, say why', ANNOTATE);

/** The clocks of this machine and of the guard can differ. */
const CLOCK_TOLERANCE_MS = 60_000;
/** The answers of a guard that has listed the references. */
const DECISIONS = new Set<string | undefined>(['MCG_IN_USE', 'MCG_HELD']);
const FLOOR_POLICIES = new Set<string | undefined>(Object.values(ADMISSION_POLICIES));

/** The guard in a dry run that reached it, else as the objects of the cluster tell. */
export function findGuard(evidence: Evidence, dryRun?: DryRun): Finding {
  const predicted = predictGuard(evidence);
  if (dryRun === undefined) return predicted;
  const { answer, unused } = dryRun;
  // The guard can deny a config in use from its index while it denies all others.
  const blockage = findBlockage(answer, evidence) ?? (unused && findBlockage(unused, evidence));
  if (blockage !== undefined) return blockage;
  if (parseAnswer(answer).webhook === WEBHOOK_NAME) {
    const isDev = findMainWebhook(evidence)?.installation === 'dev';
    const limit = isDev ? ', but only until the command dev stops' : '';
    return toFinding(
      'denies',
      `the guard denies the deletion of a config in use${limit}`,
      isDev ? INSTALL_ADVICE : null,
    );
  }
  if (answer.status >= 400 || predicted.effect === 'allows') return predicted;
  if (evidence.webhooks === undefined) return { ...predicted, effect: 'allows' };
  if (evidence.webhooks.every(({ failurePolicy }) => failurePolicy === 'Ignore')) {
    const reason = 'the API server could not call the guard, and its failurePolicy is Ignore';
    return toFinding('allows', reason, adviseOnCalls(evidence));
  }
  const reason = 'the API server did not call the guard, although its mode is Enforce';
  const advice = advise('a new webhook needs some seconds; retry, then check the logs of the guard and the API server');
  return toFinding('allows', reason, advice);
}

/** The policies in a dry run, else as their bindings tell. Undefined if they are not installed. */
export function findFloor(evidence: Evidence, dryRun?: DryRun): Finding | undefined {
  const predicted = predictFloor(evidence, dryRun === undefined ? ['Node', 'MachineConfigPool'] : [dryRun.kind]);
  if (dryRun === undefined) return predicted;
  const { answer, unused } = dryRun;
  for (const seen of unused === undefined ? [answer] : [answer, unused]) {
    const { policy, reason = '' } = parseAnswer(seen);
    if (!FLOOR_POLICIES.has(policy) || reason.startsWith('MCG_IN_USE')) continue;
    const removal = ['oc', 'delete', 'validatingadmissionpolicybinding', String(policy)];
    return { ...toFinding('blocks', `the policy ${policy} fails`, POLICY_ADVICE), wayOut: adviseWayOut(removal) };
  }
  const { policy } = parseAnswer(answer);
  if (FLOOR_POLICIES.has(policy)) {
    return { ...toFinding('denies', `the policy ${policy} denies the deletion of a config in use`), isSeen: true };
  }
  if (predicted?.effect !== 'denies') return predicted && { ...predicted, effect: 'allows' };
  const reason = 'the policy floor did not deny it, although its bindings have the action Deny';
  return toFinding('allows', reason, POLICY_ADVICE);
}

/** Another webhook or policy that denied. One that also denies other deletions may not know what is in use. */
export function findOther(evidence: Evidence, { answer, unused }: DryRun): Finding | undefined {
  const { webhook, policy, failed } = parseAnswer(answer);
  if (answer.status < 400 || webhook === WEBHOOK_NAME || failed === WEBHOOK_NAME || FLOOR_POLICIES.has(policy))
    return undefined;
  const denier = policy === undefined ? `the webhook ${webhook ?? failed}` : `the policy ${policy}`;
  const isGuardAbsent = predictGuard(evidence).effect === 'allows';
  if (failed === undefined && isGuardAbsent && unused !== undefined && unused.status < 400) {
    const limits = 'docs/install.md#other-policies explains what other policies can miss';
    return toFinding('denies', `${denier} denies the deletion of a config in use (${limits})`);
  }
  const advice = advise('see the answer; verify again when the deletion is no longer denied there');
  return toFinding('unknown', `denied by ${denier}, so the guard's decision is unknown`, advice);
}

function predictGuard(evidence: Evidence): Finding {
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
  const failure = findCallFailure(evidence) ?? findExpiry(evidence);
  if (failure !== undefined && webhook.failurePolicy === 'Ignore') {
    return toFinding('allows', `${failure.reason}, and its failurePolicy is Ignore`, failure.advice);
  }
  if (failure !== undefined) return failure;
  const ready = findCondition(guard, 'Ready');
  if (ready?.status === 'False')
    return { ...toFinding('blocks', `the guard has ${ready.message}`, LOG_ADVICE), wayOut: BREAK_GLASS };
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

/** @param kinds the referrers of the config. Each policy checks one kind, and none checks builds. */
function predictFloor({ floor }: Evidence, kinds: readonly ReferrerKind[]): Finding | undefined {
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

/** Why the guard denies every deletion of a rendered config. Undefined for another answer. */
function findBlockage(answer: DryRunAnswer, evidence: Evidence): Finding | undefined {
  const { webhook, code, failed } = parseAnswer(answer);
  if (failed === WEBHOOK_NAME) return explainCallFailure(answer.message, evidence);
  if (webhook !== WEBHOOK_NAME || DECISIONS.has(code)) return undefined;
  const reason = `the guard cannot list the references (${code ?? 'answer without a code'})`;
  return { ...toFinding('blocks', reason, LOG_ADVICE), wayOut: BREAK_GLASS };
}

/** @param message the API server's error about its call */
function explainCallFailure(message: string, evidence: Evidence): Finding {
  if (message.includes('x509:')) {
    return toCallFailure("the API server does not trust the guard's certificate", adviseOnTrust(evidence), evidence);
  }
  if (/no endpoints available|(?:service|endpoints) "[^"]+" not found|no service port/.test(message)) {
    return findCallFailure(evidence) ?? toMissingPod(evidence);
  }
  return toCallFailure('the API server cannot reach the guard', adviseOnCalls(evidence), evidence);
}

/** Why the API server cannot call the guard, as far as the objects of the cluster tell. */
function findCallFailure(evidence: Evidence): Finding | undefined {
  const { deployment } = evidence;
  const { caBundle = true, target = '' } = findMainWebhook(evidence) ?? {};
  // Without a caBundle, the API server checks the certificate of a URL with the CAs of its host.
  if (!caBundle && target.startsWith('Service ')) {
    return toCallFailure('the webhook has no caBundle', adviseOnTrust(evidence), evidence);
  }
  // The Deployment says nothing about a webhook with a URL or of another namespace.
  if (!target.startsWith(`Service ${INSTALLED_NAME}/`)) return undefined;
  if (deployment === null) {
    const advice = advise('install the guard again (docs/install.md)');
    return toCallFailure('the Deployment of the guard does not exist', advice, evidence);
  }
  return deployment?.readyReplicas === 0 ? toMissingPod(evidence) : undefined;
}

function toMissingPod(evidence: Evidence): Finding {
  const advice = advise('look at the pods', ['oc', 'get', 'pods', '-n', INSTALLED_NAME]);
  return toCallFailure('no guard pod is ready', advice, evidence);
}

function findExpiry(evidence: Evidence): Finding | undefined {
  const { status, message } = findCondition(evidence.guard, 'CertificatesValid') ?? {};
  if (status !== 'False') return undefined;
  const advice = advise('see docs/runbooks/MachineConfigGuardCertificateExpiring.md');
  return toCallFailure(`a certificate of the guard has expired (${message})`, advice, evidence);
}

/** No annotation and no mode help while the API server cannot call the guard. */
function toCallFailure(reason: string, advice: Advice, evidence: Evidence): Finding {
  const { configuration = '' } = findMainWebhook(evidence) ?? {};
  const wayOut = adviseWayOut(['oc', 'delete', 'validatingwebhookconfiguration', configuration]);
  return { effect: 'blocks', reason, advice, wayOut };
}

function adviseWayOut(removal: readonly string[]): Advice {
  return advise('to delete configs meanwhile, remove what denies; then nothing protects configs in use', removal);
}

function adviseOnCalls(evidence: Evidence): Advice {
  if (findMainWebhook(evidence)?.installation === 'dev') return advise('start the command dev again');
  const command = ['oc', 'get', 'pods,endpointslices', '-n', INSTALLED_NAME];
  return advise(
    'look at the pods and the addresses of the Service; with --host-network, open port 9843 of the nodes',
    command,
  );
}

/** For a webhook without a caBundle, or with another one than that of the guard. */
function adviseOnTrust(evidence: Evidence): Advice {
  const { installation } = findMainWebhook(evidence) ?? {};
  const wait = 'wait until the caBundle is injected; if it is not, look at the injector';
  if (installation === 'service-ca') return advise(wait, ['oc', 'get', 'pods', '-n', 'openshift-service-ca']);
  if (installation === 'cert-manager') return advise(wait, ['oc', 'get', 'certificates', '-n', INSTALLED_NAME]);
  return advise('apply all manifests of one rendering again');
}

function toFinding(effect: Finding['effect'], reason: string, advice: Advice | null = null): Finding {
  return { effect, reason, advice };
}

import { type Advice, advise, PIPE, type Word } from '../../client/output/advice.ts';
import type { ReferrerKind } from '../../decision/references.ts';
import { ALLOW_DELETION_ANNOTATION } from '../../decision/settings.ts';
import { ADMISSION_POLICIES, WEBHOOK_NAME } from '../../install/webhook-configuration.ts';
import { INSTALLED_NAME } from '../../kube/api-paths.ts';
import { type DryRun, type DryRunAnswer, parseAnswer } from './dry-run-deletion.ts';
import { type Evidence, findCondition } from './evidence.ts';

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

export const INSTALL_ADVICE = advise('install the guard', ['machineconfig-guard', 'explain', 'install']);
const APPLY: readonly Word[] = ['--out', '-', PIPE, 'oc', 'apply', '-f', '-'];
const RENDER_AGAIN: readonly Word[] = ['machineconfig-guard', 'render', '--from-cluster', ...APPLY];
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
const CALL_ADVICE = advise(
  'look at the pods and the addresses of the Service; with --host-network, open port 9843 of the nodes',
  ['oc', 'get', 'pods,endpointslices', '-n', INSTALLED_NAME],
);
const TRUST_ADVICE = advise(
  'wait until the service CA or cert-manager has injected the caBundle, or apply the manifests again',
  RENDER_AGAIN,
);
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
    return toFinding('denies', 'the guard denies the deletion of a config in use');
  }
  if (answer.status >= 400 || predicted.effect === 'allows') return predicted;
  if (evidence.webhooks === undefined) return { ...predicted, effect: 'allows' };
  if (evidence.webhooks.every(({ failurePolicy }) => failurePolicy === 'Ignore')) {
    const reason = 'the API server could not call the guard, and its failurePolicy is Ignore';
    return toFinding('allows', reason, CALL_ADVICE);
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
    const limits = 'it can miss references: see the topic install/other-policies of the command explain';
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
  const webhook = evidence.webhooks?.[0];
  if (webhook === undefined) return toFinding('allows', 'the guard is not installed', INSTALL_ADVICE);
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
    const floorCommand: readonly Word[] = [
      'machineconfig-guard',
      'render',
      '--from-cluster',
      '--profile',
      'policy-floor',
      ...APPLY,
    ];
    const advice = advise('apply the policy floor', floorCommand);
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
    return toCallFailure("the API server does not trust the guard's certificate", TRUST_ADVICE, evidence);
  }
  if (/no endpoints available|(?:service|endpoints) "[^"]+" not found|no service port/.test(message)) {
    return findCallFailure(evidence) ?? toMissingPod(evidence);
  }
  return toCallFailure('the API server cannot reach the guard', CALL_ADVICE, evidence);
}

/** Why the API server cannot call the guard, as far as the objects of the cluster tell. */
function findCallFailure(evidence: Evidence): Finding | undefined {
  const { deployment } = evidence;
  const { caBundle = true, target = '' } = evidence.webhooks?.[0] ?? {};
  // Without a caBundle, the API server checks the certificate of a URL with the CAs of its host.
  if (!caBundle && target.startsWith('Service ')) {
    return toCallFailure('the webhook has no caBundle', TRUST_ADVICE, evidence);
  }
  // The Deployment says nothing about a webhook with a URL or of another namespace.
  if (!target.startsWith(`Service ${INSTALLED_NAME}/`)) return undefined;
  if (deployment === null) {
    const advice = advise('install the guard again', RENDER_AGAIN);
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
  const advice = advise('see what to do', ['machineconfig-guard', 'explain', 'MachineConfigGuardCertificateExpiring']);
  return toCallFailure(`a certificate of the guard has expired (${message})`, advice, evidence);
}

/** No annotation and no mode help while the API server cannot call the guard. */
function toCallFailure(reason: string, advice: Advice, evidence: Evidence): Finding {
  const { configuration = '' } = evidence.webhooks?.[0] ?? {};
  const rest = predictFloor(evidence, ['Node'])?.effect === 'denies' ? 'only the policy floor' : 'nothing';
  const wayOut = adviseWayOut(['oc', 'delete', 'validatingwebhookconfiguration', configuration], rest);
  return { effect: 'blocks', reason, advice, wayOut };
}

/** @param rest what still protects then */
function adviseWayOut(removal: readonly string[], rest = 'nothing'): Advice {
  return advise(`to delete configs meanwhile, remove what denies; then ${rest} protects configs in use`, removal);
}

/** What somebody should look at although configs in use are protected. Clauses. */
export function listWarnings(evidence: Evidence, undatedPools: readonly string[]): string[] {
  const { deployment, authorityFlags = '' } = evidence;
  const { flags = '' } = evidence.webhooks?.[0] ?? {};
  const withoutNode = (deployment?.flags ?? flags).replace(' --single-node', '');
  const warnings: string[] = [];
  if (flags !== '' && withoutNode !== flags) {
    warnings.push(`the webhook was rendered with ${flags}, but the Deployment with ${deployment?.flags || 'no flags'}`);
  }
  const [issuer] = /--tls=\S+/.exec(authorityFlags) ?? [];
  if (issuer !== undefined && flags !== '' && !flags.includes(issuer)) {
    warnings.push(`the Secret machineconfig-guard-ca is left of an installation with ${issuer}; now it has ${flags}`);
  }
  if (undatedPools.length > 0) {
    const pools = `${undatedPools.length === 1 ? 'pool' : 'pools'} ${undatedPools.join(', ')}`;
    warnings.push(`${pools} without managedFields: the guard cannot tell since when the spec names its config`);
  }
  return warnings;
}

function toFinding(effect: Finding['effect'], reason: string, advice: Advice | null = null): Finding {
  return { effect, reason, advice };
}

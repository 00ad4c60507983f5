import { type Advice, advise, toApplyCommand } from '../../client/output/advice.ts';
import { shell, type ShellCommand, verbatim } from '../../diagnosis/shell-command.ts';
import type { ReferrerKind } from '../../mco/referrer.ts';
import { ADMISSION_POLICIES, WEBHOOK_NAME } from '../../install/webhook-configuration.ts';
import { type DryRun, type DryRunAnswer, parseAnswer } from './dry-run-deletion.ts';
import { type Evidence, findCondition, findHeldLease, type RegisteredWebhook } from './evidence.ts';
import { ALLOW_DELETION_ANNOTATION } from '../../api/annotations.ts';
import { INSTALLED_NAME } from '../../api/paths.ts';

/**
 * PROTECTED: configs in use cannot be deleted, and others can. BLOCKED: configs in use cannot be deleted, but the
 * denial has another cause, which denies every deletion of a rendered config. EXPOSED: configs in use can be deleted.
 * UNKNOWN: the evidence or the dry run could not tell.
 */
export type ProtectionState = 'PROTECTED' | 'BLOCKED' | 'EXPOSED' | 'UNKNOWN';

/** What protects now, and what does not work. Part of the JSON of `verify` and `status`. */
export interface Protection {
  readonly state: ProtectionState;
  /** Whether configs in use cannot be deleted, and others can. */
  readonly protected: boolean;
  /** What denied, or what the objects of the cluster show. Null unless `protected`. */
  readonly by: 'guard' | 'floor' | null;
  /** Why. A clause. */
  readonly explanation: string;
  /** What is installed and does not work, or was not tested, although the state can be PROTECTED. A clause. */
  readonly failing: string | null;
  /** What ends it. */
  readonly advice: Advice | null;
  /** How to delete a config while the state is BLOCKED, from the smallest step to the largest. */
  readonly waysOut: readonly Advice[];
}

interface Finding {
  /** `blocks`: it denies, but for a cause that denies every deletion of a rendered config. */
  readonly effect: 'denies' | 'blocks' | 'allows' | 'unknown';
  readonly reason: string;
  readonly advice: Advice | null;
  readonly waysOut?: readonly Advice[];
}

export const UNKNOWN = {
  state: 'UNKNOWN',
  protected: false,
  by: null,
  failing: null,
  advice: null,
  waysOut: [],
} as const;

const INSTALL_ADVICE = advise('install the guard', shell`machineconfig-guard explain install/in-a-running-cluster`);
const RENDER = shell`machineconfig-guard render --from-cluster --out - | oc apply -f -`;
export const VERIFY_ADVICE = advise('see what a dry-run deletion shows', shell`machineconfig-guard verify`);
const FAIL_OPEN_ADVICE = advise(
  'if a deletion cannot wait, fail open: policies then deny the deletion of configs in use, and unused ones can go',
  toApplyCommand('fail-open-with-floor'),
);
const ENFORCE_COMMAND = shell`oc patch mcguard cluster --type=merge -p ${verbatim('{"spec":{"mode":"Enforce"}}')}`;
/** A policy needs some seconds for a new binding, and up to a minute after a restart or a change of a CRD. */
const POLICY_ADVICE = advise(
  'wait a minute; if it stays, look at the status of the policies',
  shell`oc get validatingadmissionpolicies -o yaml`,
);
/** A policy answers before the API server calls the guard. */
export const GUARD_UNTESTED =
  'the guard was not tested, because a policy answers first, and no unused config lacks an override';
const UNTESTED_ADVICE = advise(
  'verify again when a config is unused, such as after the next roll-out; until then, look at the pods',
  shell`oc get pods -n ${INSTALLED_NAME}`,
);
const LOG_ADVICE = advise("retry; then check the guard's logs, its RBAC and its connection to the API server");
const CALL_ADVICE = advise(
  'look at the pods and the addresses of the Service; with --host-network, open port 9843 of the nodes',
  shell`oc get pods,endpointslices -n ${INSTALLED_NAME}`,
);
/** What ends a missing or wrong caBundle, by what injects it. */
const TRUST_ADVICE: Readonly<Record<RegisteredWebhook['installation'], Advice>> = {
  'service-ca': advise(
    'wait until the service CA operator has injected the caBundle; if it stays, look at the operator',
    shell`oc get clusteroperator service-ca`,
  ),
  'cert-manager': advise(
    'wait until cert-manager has injected the caBundle; if it stays, look at its Certificates',
    shell`oc get certificates -n ${INSTALLED_NAME}`,
  ),
  rendered: advise('apply the manifests again, which contain the caBundle', RENDER),
};
const REINSTALL_ADVICE = advise('apply your overlay again; without one, install the guard again', RENDER);
/** What ends the errors of the guard's lists, as docs/troubleshooting.md explains them. */
const LIST_REMEDIES: readonly (readonly [status: string, Advice])[] = [
  ['answered 403', REINSTALL_ADVICE],
  [
    'answered 401',
    advise(
      'delete the pods, which have a token of an old ServiceAccount',
      shell`oc delete pods --all -n ${INSTALLED_NAME}`,
    ),
  ],
];
const SCALE_ADVICE = advise(
  'start it; with one node, use --replicas=1',
  shell`oc scale deployment ${INSTALLED_NAME} -n ${INSTALLED_NAME} --replicas=2`,
);
const PODS_ADVICE = advise('look at the pods', shell`oc get pods -n ${INSTALLED_NAME}`);
/** The guard answers, so it reads the annotation. */
const BREAK_GLASS = advise(
  'to delete a config meanwhile, say why',
  shell`oc annotate machineconfig NAME ${verbatim(ALLOW_DELETION_ANNOTATION)}=REASON`,
);
/** The beginning of a target. */
const OWN_SERVICE = `Service ${INSTALLED_NAME}/`;
/** The clocks of this machine and of the guard can differ. */
const CLOCK_TOLERANCE_MS = 60_000;
/** The answers of a guard that has listed the references. */
const DECISIONS = new Set<string | undefined>(['MCG_IN_USE', 'MCG_HELD']);
const FLOOR_POLICIES = new Set<string | undefined>(Object.values(ADMISSION_POLICIES));
const OPEN_LIMITS = 'The guard fails open, so while no pod is ready, nothing protects';
const OVERRIDE_ADVICE = advise(
  'see which, and remove the annotation if it has done its work',
  shell`machineconfig-guard check`,
);
const EXPIRY_ADVICE = advise(
  'see what to do',
  shell`machineconfig-guard explain MachineConfigGuardCertificateExpiring`,
);
const FLOOR_LIMITS = 'The policies can miss a new reference and do not check MachineOSBuilds';

export function isComplete({ protected: isProtected, failing }: Pick<Protection, 'protected' | 'failing'>): boolean {
  return isProtected && failing === null;
}

/** Derives the state from everything that is known. A dry run counts more than the objects of the cluster. */
export function deriveProtection(evidence: Evidence, dryRun?: DryRun): Protection {
  const protection = derive(evidence, dryRun);
  const [problem, remedy] = findHiddenProblem(evidence, protection);
  if (!protection.protected || problem === undefined) return protection;
  const { explanation, failing, advice } = protection;
  return {
    ...protection,
    explanation: `${explanation}. But ${problem}`,
    failing: failing ?? problem,
    advice: advice ?? remedy ?? null,
  };
}

/** What the denial of a dry run does not show. */
function findHiddenProblem({ guard }: Evidence, { by }: Protection): readonly [problem?: string, remedy?: Advice] {
  const expiry = findExpiry(guard);
  // The API server that answered uses the connection that it has. Others, and a new connection, fail.
  if (by === 'guard' && expiry !== undefined) return [`${expiry}: no new connection to it works`, EXPIRY_ADVICE];
  const { status, message = '' } = findCondition(guard, 'OverridesUnused') ?? {};
  return status === 'False' ? [`some configs are ${message}`, OVERRIDE_ADVICE] : [];
}

function findExpiry(guard: Evidence['guard']): string | undefined {
  const { status, message = '' } = findCondition(guard, 'CertificatesValid') ?? {};
  return status === 'False' ? `a certificate of the guard has expired (${message})` : undefined;
}

function derive(evidence: Evidence, dryRun: DryRun | undefined): Protection {
  const guard = dryRun === undefined ? predictGuard(evidence) : findGuard(evidence, dryRun);
  const floor = dryRun === undefined ? predictFloor(evidence) : findFloor(evidence, dryRun);
  const { reason, advice } = guard;
  const isGuardAbsent = isAbsent(evidence);
  const failing = isGuardAbsent ? null : reason;
  const blocker = [guard, floor].find((finding) => finding?.effect === 'blocks');
  if (blocker !== undefined) {
    // A policy can deny the deletion of other MachineConfigs, too.
    const others = blocker === guard ? ', and no other request is affected, so the repair can wait' : '';
    const denial = `every rendered-config deletion is denied because ${blocker.reason}`;
    const explanation = `${denial}. Configs in use are safe${others}`;
    const { waysOut = [] } = blocker;
    return { ...UNKNOWN, state: 'BLOCKED', explanation, failing: blocker.reason, advice: blocker.advice, waysOut };
  }
  const { policy, webhook, failed } = dryRun === undefined ? {} : parseAnswer(dryRun.answer);
  // A policy engine can deny without knowing which configs are in use.
  const other = [policy, webhook, failed].find(
    (name) => name !== undefined && name !== WEBHOOK_NAME && !FLOOR_POLICIES.has(name),
  );
  if (other !== undefined) {
    const explanation = `denied by ${other}, so it is unknown what the guard does`;
    return { ...UNKNOWN, explanation, advice: advise('verify again when the deletion is no longer denied there') };
  }
  const isDeniedByFloor = floor?.effect === 'denies';
  if (guard.effect === 'denies') {
    // A policy answers before the API server calls the guard.
    const isFirst = isDeniedByFloor && policy !== undefined;
    if (!isFirst) {
      const isOpen = evidence.webhooks?.every(({ failurePolicy }) => failurePolicy === 'Ignore') === true;
      const explanation = isOpen && predictFloor(evidence)?.effect !== 'denies' ? `${reason}. ${OPEN_LIMITS}` : reason;
      return { ...UNKNOWN, state: 'PROTECTED', protected: true, by: 'guard', explanation };
    }
    const ofFloor = { ...UNKNOWN, state: 'PROTECTED', protected: true, by: 'floor' } as const;
    const explanation = `${floor.reason}, before the API server calls the guard`;
    if (isGuardTested(evidence, dryRun)) return { ...ofFloor, explanation };
    // With Ignore, a dry run of an unused config does not show whether the guard answered.
    const isIgnored = dryRun?.unused !== undefined;
    if (isIgnored) return { ...ofFloor, explanation: `${explanation}. Not tested: ${reason}` };
    return {
      ...ofFloor,
      explanation: `${explanation}. But ${GUARD_UNTESTED}`,
      failing: GUARD_UNTESTED,
      advice: UNTESTED_ADVICE,
    };
  }
  // The dry run shows only one kind of referrer.
  const wholeFloor = isDeniedByFloor ? predictFloor(evidence) : undefined;
  if (isDeniedByFloor && wholeFloor?.effect !== 'allows') {
    const explanation = `only ${floor.reason}: ${reason}. ${FLOOR_LIMITS}`;
    // Without the guard, the policies are what the administrator has chosen.
    const ofGuard = isGuardAbsent ? null : advice;
    return { ...UNKNOWN, state: 'PROTECTED', protected: true, by: 'floor', explanation, failing, advice: ofGuard };
  }
  if (guard.effect === 'unknown') return { ...UNKNOWN, explanation: reason, failing: reason, advice };
  if (floor?.effect === 'unknown') return { ...UNKNOWN, explanation: `${reason}, and ${floor.reason}`, advice };
  const lacking = wholeFloor ?? floor;
  const reasons = lacking === undefined ? reason : `${reason}; ${lacking.reason}`;
  const explanation = `a config in use can be deleted: ${reasons}`;
  const remedy = isGuardAbsent ? (lacking?.advice ?? advice) : advice;
  return { ...UNKNOWN, state: 'EXPOSED', explanation, failing, advice: remedy };
}

/** Whether the answer to the deletion of an unused config shows that the guard decides. */
function isGuardTested({ webhooks = [] }: Evidence, dryRun: DryRun | undefined): boolean {
  const { unused } = dryRun ?? {};
  if (unused === undefined) return false;
  if (DECISIONS.has(parseAnswer(unused).code)) return true;
  return unused.status < 400 && webhooks.some(({ failurePolicy }) => failurePolicy === 'Fail');
}

/** The guard in a dry run that reached it, else as the objects of the cluster tell. */
function findGuard(evidence: Evidence, { answer, unused }: DryRun): Finding {
  const predicted = predictGuard(evidence);
  // The guard can deny a config in use from its index while it denies all others.
  const blockage = findBlockage(answer, evidence) ?? (unused && findBlockage(unused, evidence));
  if (blockage !== undefined) return blockage;
  if (evidence.webhooks?.some(({ alteration }) => alteration !== undefined) === true) return predicted;
  if (parseAnswer(answer).webhook === WEBHOOK_NAME)
    return toFinding('denies', 'the guard denies the deletion of a config in use');
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
function findFloor(evidence: Evidence, { answer, unused, kind }: DryRun): Finding | undefined {
  const predicted = predictFloor(evidence, [kind]);
  for (const seen of unused === undefined ? [answer] : [answer, unused]) {
    const { policy, reason = '' } = parseAnswer(seen);
    if (!FLOOR_POLICIES.has(policy) || reason.startsWith('MCG_IN_USE')) continue;
    const removal = shell`oc delete validatingadmissionpolicybinding ${String(policy)}`;
    return { ...toFinding('blocks', `the policy ${policy} fails`, POLICY_ADVICE), waysOut: [adviseRemoval(removal)] };
  }
  const { policy } = parseAnswer(answer);
  if (FLOOR_POLICIES.has(policy))
    return toFinding('denies', `the policy ${policy} denies the deletion of a config in use`);
  if (predicted?.effect !== 'denies') return predicted && { ...predicted, effect: 'allows' };
  const reason =
    'the policy floor did not deny it, although its bindings have the action Deny (new ones need some seconds)';
  return toFinding('allows', reason, POLICY_ADVICE);
}

function predictGuard(evidence: Evidence): Finding {
  const { guard, mode, webhooks, deployment, lease, readAt } = evidence;
  if (webhooks === undefined) {
    const reason = 'you may not list validatingwebhookconfigurations, so it is unknown whether the guard is installed';
    return toFinding('unknown', reason, advise('ask for the ClusterRole machineconfig-guard-reader'));
  }
  if (isAbsent(evidence)) return toFinding('allows', 'the guard is not installed', INSTALL_ADVICE);
  const [webhook] = webhooks;
  if (webhook === undefined)
    return toFinding('allows', 'the webhook configuration of the guard does not exist', REINSTALL_ADVICE);
  if (mode !== null && mode !== 'Enforce')
    return toFinding('allows', `the mode of the guard is ${mode}`, advise('set the mode Enforce', ENFORCE_COMMAND));
  const { alteration } = webhooks.find((each) => each.alteration !== undefined) ?? {};
  if (alteration !== undefined) {
    const removal = shell`oc delete validatingwebhookconfiguration ${webhook.configuration}`;
    const advice = advise(
      'delete it, which ends its protection, and run verify again, which says how to create it',
      removal,
    );
    return toFinding('allows', `the webhook configuration was changed: it has ${alteration}`, advice);
  }
  const failure = findCallFailure(evidence);
  if (failure !== undefined && webhook.failurePolicy === 'Ignore')
    return toFinding('allows', `${failure.reason}, and its failurePolicy is Ignore`, failure.advice);
  if (failure !== undefined) return failure;
  const ready = findCondition(guard, 'Ready');
  // While only its settings are unreadable, it decides as in mode Enforce.
  if (ready?.status === 'False' && ready.reason !== 'SettingsUnreadable')
    return toBlockage(`the guard is not ready: ${ready.message}`);
  const { renewTime, leaseDurationSeconds } = findHeldLease(lease) ?? {};
  const expiresAt = Date.parse(renewTime ?? '') + Number(leaseDurationSeconds) * 1_000;
  if (readAt.getTime() > expiresAt + CLOCK_TOLERANCE_MS) {
    const reason = `the leader has not renewed its Lease since ${renewTime}, so the guard may be cut off`;
    return toFinding('unknown', reason, VERIFY_ADVICE);
  }
  if ((deployment?.status?.readyReplicas ?? 0) > 0)
    return toFinding('denies', 'the webhook is registered, and its Deployment shows a ready replica');
  if (renewTime) return toFinding('denies', `the webhook is registered, and its Lease was renewed at ${renewTime}`);
  const reason = 'the webhook is registered, but no Deployment or Lease that you may read shows that the guard runs';
  return toFinding('unknown', reason, VERIFY_ADVICE);
}

/** @param kinds the referrers of the config. Each policy checks one kind, and none checks builds. */
function predictFloor({ floor }: Evidence, kinds: readonly ReferrerKind[] = ['Node', 'MachineConfigPool']) {
  if (floor === undefined) return toFinding('unknown', 'you may not read the bindings of the policy floor');
  if (floor.length === 0) return undefined;
  const denying = new Set(floor.filter(({ actions }) => actions.includes('Deny')).map(({ policy }) => policy));
  const unchecked = kinds.find((kind) => !denying.has(ADMISSION_POLICIES[kind] ?? ''));
  if (unchecked === undefined) return toFinding('denies', 'the policy floor is active');
  const apply = advise('apply the policy floor', toApplyCommand('policy-floor'));
  const advice = unchecked in ADMISSION_POLICIES ? apply : INSTALL_ADVICE;
  return toFinding('allows', `no policy with the action Deny checks ${unchecked}s`, advice);
}

/** Whether neither a webhook nor a pod of the guard exists. */
function isAbsent({ webhooks, deployment }: Evidence): boolean {
  return webhooks?.length === 0 && !deployment?.status?.readyReplicas;
}

function findBlockage(answer: DryRunAnswer, evidence: Evidence): Finding | undefined {
  const { webhook, code, failed } = parseAnswer(answer);
  if (failed === WEBHOOK_NAME) {
    if (answer.message.includes('x509: certificate has expired'))
      return toExpiry('the certificate of the guard has expired or is not yet valid', evidence);
    if (answer.message.includes('x509:'))
      return toCallFailure("the API server does not trust the guard's certificate", adviseTrust(evidence), evidence);
    return findCallFailure(evidence) ?? toUnreachable(evidence);
  }
  if (webhook !== WEBHOOK_NAME || DECISIONS.has(code)) return undefined;
  const [, remedy] = LIST_REMEDIES.find(([status]) => answer.message.includes(status)) ?? [];
  return toBlockage(`the guard cannot list the references (${code ?? 'answer without a code'})`, remedy);
}

/** A person or another tool can have changed what the webhook calls. */
function toUnreachable(evidence: Evidence): Finding {
  const reason = 'the API server cannot reach the guard';
  const { target = '' } = evidence.webhooks?.[0] ?? {};
  const isChanged = target.startsWith(OWN_SERVICE) && target !== `${OWN_SERVICE}${INSTALLED_NAME}:443`;
  return isChanged
    ? toCallFailure(`${reason} at ${target}, which the manifests do not name`, REINSTALL_ADVICE, evidence)
    : toCallFailure(reason, CALL_ADVICE, evidence);
}

function findCallFailure(evidence: Evidence): Finding | undefined {
  const { guard, deployment, webhooks } = evidence;
  const { caBundle = true, target = '' } = webhooks?.[0] ?? {};
  // Without a caBundle, the API server checks the certificate of a URL with the CAs of its host.
  if (!caBundle && target.startsWith('Service '))
    return toCallFailure('the webhook has no caBundle', adviseTrust(evidence), evidence);
  // The Deployment says nothing about a webhook with a URL or of another namespace.
  const isOwn = target.startsWith(OWN_SERVICE);
  if (isOwn && deployment === null)
    return toCallFailure('the Deployment of the guard does not exist', REINSTALL_ADVICE, evidence);
  if (isOwn && deployment?.spec?.replicas === 0)
    return toCallFailure('the Deployment of the guard has 0 replicas', SCALE_ADVICE, evidence);
  const expiry = findExpiry(guard);
  // A pod that starts with an expired authority does not become ready.
  const isUnready = isOwn && deployment && !deployment.status?.readyReplicas;
  const reasons = [isUnready ? 'no guard pod is ready' : [], expiry ?? []].flat();
  if (reasons.length === 0) return undefined;
  const reason = reasons.join(', and ');
  return expiry === undefined ? toCallFailure(reason, PODS_ADVICE, evidence) : toExpiry(reason, evidence);
}

function toExpiry(reason: string, evidence: Evidence): Finding {
  const failure = toCallFailure(reason, EXPIRY_ADVICE, evidence);
  if (evidence.webhooks?.[0]?.installation !== 'rendered') return failure;
  // Only `--new-authority` renders with an expired authority, and ends the problem.
  return { ...failure, waysOut: failure.waysOut.filter((way) => way !== FAIL_OPEN_ADVICE) };
}

/** No annotation and no mode help while the API server cannot call the guard. Before OpenShift 4.17, no policy does. */
function toCallFailure(reason: string, advice: Advice, evidence: Evidence) {
  const { configuration = '', installation, target } = evidence.webhooks?.[0] ?? {};
  const isOfRender = installation !== 'cert-manager' && target?.startsWith(OWN_SERVICE) === true;
  const rest = predictFloor(evidence, ['Node'])?.effect === 'denies' ? 'only the policy floor' : 'nothing';
  const removal = adviseRemoval(shell`oc delete validatingwebhookconfiguration ${configuration}`, rest);
  const waysOut = evidence.servesPolicies && isOfRender ? [FAIL_OPEN_ADVICE, removal] : [removal];
  return { ...toFinding('blocks', reason, advice), waysOut };
}

function adviseTrust({ webhooks }: Evidence): Advice {
  return TRUST_ADVICE[webhooks?.[0]?.installation ?? 'rendered'];
}

function toBlockage(reason: string, remedy = LOG_ADVICE): Finding {
  return { ...toFinding('blocks', reason, remedy), waysOut: [BREAK_GLASS] };
}

function adviseRemoval(removal: ShellCommand | undefined, rest = 'nothing'): Advice {
  return advise(`to delete configs meanwhile, remove what denies; then ${rest} protects configs in use`, removal);
}

function toFinding(effect: Finding['effect'], reason: string, advice: Advice | null = null): Finding {
  return { effect, reason, advice };
}

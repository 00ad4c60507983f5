import { type Advice, advise } from '../../client/output/advice.ts';
import type { ReferrerKind } from '../../decision/references.ts';
import { ADMISSION_POLICIES, WEBHOOK_NAME } from '../../install/webhook-configuration.ts';
import {
  adviseOnUnreachableGuard,
  type Diagnosis,
  diagnoseCallFailure,
  findCallFailure,
  findFloorGap,
  findGuardAbsence,
  INSTALL_ADVICE,
  type Protection,
  toBlocked,
  toFloorProtection,
  toProtected,
  toUnprotected,
} from './diagnosis.ts';
import type { Evidence } from './evidence.ts';

export interface TrialResponse {
  readonly status: number;
  /** Empty if the deletion is allowed. */
  readonly message: string;
}

/** Messages of kube-apiserver (k8s.io/apiserver, admission/plugin/webhook and policy/validating). */
const DENIED_BY_WEBHOOK = /admission webhook "(?<webhook>[^"]+)" denied the request: (?<code>MCG_[A-Z_]+)?/;
const DENIED_BY_POLICY =
  /ValidatingAdmissionPolicy '(?<policy>[^']+)'(?: with binding '[^']+')? denied request: (?<reason>[\s\S]*)/;
const WEBHOOK_FAILED = /failed calling webhook "(?<webhook>[^"]+)"/;

const UNVERIFIED_ADVICE = advise("check the guard's logs, its RBAC and its connection to the API server");
const SEE_ANSWER = advise('see the answer');

/**
 * Assesses the answer to the deletion of a config in use.
 *
 * @param unused the answer to the deletion of an unused config: it shows whether every deletion is denied
 */
export function assessProtection(
  { status, message }: TrialResponse,
  evidence: Evidence,
  referrerKind: ReferrerKind,
  unused: TrialResponse | null = null,
): Protection {
  if (status < 400) return assessAllowed(evidence, referrerKind);
  const blocked = assessBlockage(message, evidence);
  if (blocked !== undefined) return blocked;
  const { webhook: denyingWebhook, code } = DENIED_BY_WEBHOOK.exec(message)?.groups ?? {};
  // The guard can deny a config in use from its index while it denies all others.
  const blockedUnused = unused === null || unused.status < 400 ? undefined : assessBlockage(unused.message, evidence);
  if (denyingWebhook === WEBHOOK_NAME) {
    const answer = code ?? 'without a code';
    return code === 'MCG_IN_USE'
      ? (blockedUnused ?? toGuardProtection(evidence))
      : toUnprotected('BLOCKED', `the guard answered ${answer} instead of MCG_IN_USE`, SEE_ANSWER);
  }
  const { policy, reason = '' } = DENIED_BY_POLICY.exec(message)?.groups ?? {};
  if (policy !== undefined && isFloorPolicy(policy)) {
    return assessFloorDenial(policy, reason, evidence, blockedUnused);
  }
  const denier = describeDenier(denyingWebhook ?? WEBHOOK_FAILED.exec(message)?.groups?.['webhook'], policy);
  const isDenial = denyingWebhook !== undefined || policy !== undefined;
  const absence = findGuardAbsence(evidence);
  // A component that also denies other deletions may not know which configs are in use.
  if (isDenial && absence !== undefined && unused !== null && unused.status < 400) {
    const limits = 'docs/alternatives.md explains what other policies can miss';
    const explanation = `only ${denier} denies the deletion of a config in use: ${absence.reason}; ${limits}`;
    return toProtected('other', explanation, absence.advice);
  }
  return toUnprotected(
    'UNKNOWN',
    `denied by ${denier}, so the guard's decision is unknown`,
    advise('see the answer; verify again when the deletion is no longer denied there'),
  );
}

/** Whether the guard answered that it could not list the references. It can recover within seconds. */
export function isUnverified(message: string): boolean {
  const { webhook, code } = DENIED_BY_WEBHOOK.exec(message)?.groups ?? {};
  return webhook === WEBHOOK_NAME && code === 'MCG_UNVERIFIED';
}

export function isAdmissionError({ message }: TrialResponse): boolean {
  return [/admission webhook "/, DENIED_BY_POLICY, WEBHOOK_FAILED].some((pattern) => pattern.test(message));
}

function isFloorPolicy(policy: string): boolean {
  return Object.values(ADMISSION_POLICIES).includes(policy);
}

/** The assessment of a denial whose cause denies every deletion of a rendered config. Undefined for other denials. */
function assessBlockage(message: string, evidence: Evidence): Protection | undefined {
  if (isUnverified(message)) {
    const reason = 'the guard cannot list the references (MCG_UNVERIFIED)';
    return toBlocked({ reason, advice: UNVERIFIED_ADVICE });
  }
  if (WEBHOOK_FAILED.exec(message)?.groups?.['webhook'] !== WEBHOOK_NAME) return undefined;
  return toBlocked(diagnoseCallFailure(message, evidence));
}

function describeDenier(webhook: string | undefined, policy: string | undefined): string {
  if (webhook !== undefined) return `the webhook ${webhook}`;
  return policy === undefined ? 'an unknown component' : `the policy ${policy}`;
}

function toGuardProtection({ webhooks }: Evidence): Protection {
  const explanation = 'the guard denies the deletion of a config in use';
  const isDevOnly = webhooks.length > 0 && webhooks.every(({ installation }) => installation === 'dev');
  return isDevOnly
    ? toProtected('guard', `${explanation}, but only until the command dev stops`, INSTALL_ADVICE)
    : toProtected('guard', explanation);
}

/**
 * A policy that fails also denies, with a reason of the API server. The API server evaluates policies before it calls
 * webhooks.
 *
 * @param blockedUnused the assessment of a guard that denies every other deletion
 */
function assessFloorDenial(
  policy: string,
  reason: string,
  evidence: Evidence,
  blockedUnused: Protection | undefined,
): Protection {
  if (reason.startsWith('MCG_IN_USE')) {
    if (blockedUnused !== undefined) return blockedUnused;
    const absence = findGuardAbsence(evidence);
    const effect = `the policy ${policy} denies the deletion of a config in use`;
    return absence === undefined
      ? toProtected('floor', `${effect}, before the API server calls the guard`)
      : toFloorProtection(`only ${effect}`, absence);
  }
  const advice = reason.startsWith('failed to configure')
    ? advise('see the answer; after a restart of the API server or a CRD change the policy recovers within a minute')
    : adviseOnPolicy("see the answer and the policy's status", policy);
  return toUnprotected(
    'BLOCKED',
    `the policy ${policy} fails and denies the deletion. Configs in use are safe`,
    advice,
  );
}

function assessAllowed(evidence: Evidence, referrerKind: ReferrerKind): Protection {
  const { webhooks, floor } = evidence;
  const guardGap = findGuardAbsence(evidence) ?? explainMissingDenial(evidence);
  const policy = ADMISSION_POLICIES[referrerKind];
  const brokenFloor = {
    reason: `the policy ${policy} did not deny it, although its binding has the action Deny`,
    advice: adviseOnPolicy("a new binding needs some seconds; retry, then see the policy's status", policy ?? ''),
  };
  const floorGap = floor.length === 0 ? undefined : (findFloorGap(floor, referrerKind) ?? brokenFloor);
  const reasons = [guardGap, floorGap].flatMap((gap) => gap?.reason ?? []);
  const { advice } = (webhooks.length === 0 ? floorGap : undefined) ?? guardGap;
  return toUnprotected('EXPOSED', `the deletion is allowed: ${reasons.join('; ')}`, advice);
}

function explainMissingDenial(evidence: Evidence): Diagnosis {
  if (evidence.webhooks.some(({ failurePolicy }) => failurePolicy !== 'Ignore')) {
    const advice = advise(
      'a new webhook needs some seconds; retry, then check the logs of the guard and the API server',
    );
    return { reason: 'the API server did not call the guard, although its mode is Enforce', advice };
  }
  const { reason, advice } = findCallFailure(evidence) ?? {
    reason: 'the API server could not call the guard',
    advice: adviseOnUnreachableGuard(evidence),
  };
  return { reason: `${reason}, and its failurePolicy is Ignore`, advice };
}

function adviseOnPolicy(text: string, policy: string): Advice {
  return advise(text, ['oc', 'get', 'validatingadmissionpolicy', policy, '-o', 'yaml']);
}

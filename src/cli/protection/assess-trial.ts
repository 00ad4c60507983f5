import { advise } from '../../client/output/advice.ts';
import type { ReferrerKind } from '../../decision/references.ts';
import { ADMISSION_POLICIES, WEBHOOK_NAME } from '../../install/webhook-configuration.ts';
import { type Evidence, findMainWebhook } from './evidence.ts';
import { adviseOnCalls, diagnoseCallFailure, predictFloor, predictGuard } from './predict-protection.ts';
import {
  deriveProtection,
  type Finding,
  INSTALL_ADVICE,
  type Protection,
  toFinding,
  toProtection,
} from './protection.ts';

export interface TrialResponse {
  readonly status: number;
  /** Empty if the deletion is allowed. */
  readonly message: string;
}

/** Messages of kube-apiserver (k8s.io/apiserver, admission/plugin/webhook and policy/validating). */
const DENIED_BY_WEBHOOK = /admission webhook "(?<webhook>[^"]+)" denied the request(?:: (?<code>MCG_[A-Z_]+))?/;
const DENIED_BY_POLICY =
  /ValidatingAdmissionPolicy '(?<policy>[^']+)'(?: with binding '[^']+')? denied request: (?<reason>[\s\S]*)/;
const WEBHOOK_FAILED = /failed calling webhook "(?<failed>[^"]+)"/;
/** The answers of a guard that has listed the references. */
const DECISIONS = new Set<string | undefined>(['MCG_IN_USE', 'MCG_HELD']);
const FLOOR_POLICIES = new Set<string | undefined>(Object.values(ADMISSION_POLICIES));
/** A policy needs some seconds for a new binding, and up to a minute after a restart or a change of a CRD. */
const POLICY_ADVICE = advise('wait a minute; if it stays, look at the status of the policies', [
  'oc',
  'get',
  'validatingadmissionpolicies',
  '-o',
  'yaml',
]);

/**
 * Assesses the answer to the deletion of a config in use.
 *
 * @param unused the answer to the deletion of an unused config: it shows whether every deletion is denied
 */
export function assessTrial(
  answer: TrialResponse,
  evidence: Evidence,
  referrerKind: ReferrerKind,
  unused: TrialResponse | undefined,
): Protection {
  if (answer.status < 400) return deriveProtection(explainGuard(evidence), explainFloor(evidence, referrerKind));
  // The guard can deny a config in use from its index while it denies all others.
  const blockage = findBlockage(answer, evidence) ?? (unused && findBlockage(unused, evidence));
  if (blockage !== undefined) return deriveProtection(blockage);
  const { webhook, policy, failed } = parseAnswer(answer);
  if (webhook === WEBHOOK_NAME) {
    const isDev = findMainWebhook(evidence)?.installation === 'dev';
    const limit = isDev ? ', but only until the command dev stops' : '';
    const reason = `the guard denies the deletion of a config in use${limit}`;
    return deriveProtection(toFinding('denies', reason, isDev ? INSTALL_ADVICE : null));
  }
  const guard = predictGuard(evidence);
  const isGuardAbsent = guard.effect === 'allows';
  if (FLOOR_POLICIES.has(policy)) {
    const effect = `the policy ${policy} denies the deletion of a config in use`;
    return isGuardAbsent
      ? deriveProtection(guard, toFinding('denies', effect))
      : toProtection('PROTECTED', 'floor', `${effect}, before the API server calls the guard`, null);
  }
  const denier = policy === undefined ? `the webhook ${webhook ?? failed}` : `the policy ${policy}`;
  // A component that also denies other deletions may not know which configs are in use.
  if (failed === undefined && isGuardAbsent && unused !== undefined && unused.status < 400) {
    const limits = 'docs/install.md#other-policies explains what other policies can miss';
    const explanation = `only ${denier} denies the deletion of a config in use: ${guard.reason}; ${limits}`;
    return toProtection('PROTECTED', 'other', explanation, guard.advice);
  }
  const advice = advise('see the answer; verify again when the deletion is no longer denied there');
  return deriveProtection(toFinding('unknown', `denied by ${denier}, so the guard's decision is unknown`, advice));
}

/** Whether a webhook or a policy answered, or a call failed. Other errors have the same status codes. */
export function isAnswerOfAdmission(answer: TrialResponse): boolean {
  return Object.keys(parseAnswer(answer)).length > 0;
}

function parseAnswer({ message }: TrialResponse): Readonly<Record<string, string | undefined>> {
  const patterns = [DENIED_BY_WEBHOOK, DENIED_BY_POLICY, WEBHOOK_FAILED];
  return Object.assign({}, ...patterns.map((pattern) => pattern.exec(message)?.groups)) as Record<string, string>;
}

/** Why every deletion of a rendered config is denied. Undefined for another answer. */
function findBlockage(answer: TrialResponse, evidence: Evidence): Finding | undefined {
  const { webhook, code, policy = '', reason = '', failed } = parseAnswer(answer);
  if (failed === WEBHOOK_NAME) return diagnoseCallFailure(answer.message, evidence);
  if (webhook === WEBHOOK_NAME && !DECISIONS.has(code)) {
    const advice = advise("retry; then check the guard's logs, its RBAC and its connection to the API server");
    return toFinding('blocks', `the guard cannot list the references (${code ?? 'answer without a code'})`, advice);
  }
  if (!FLOOR_POLICIES.has(policy) || reason.startsWith('MCG_IN_USE')) return undefined;
  return toFinding('blocks', `the policy ${policy} fails`, POLICY_ADVICE);
}

/** Why the guard did not deny. */
function explainGuard(evidence: Evidence): Finding {
  const predicted = predictGuard(evidence);
  if (predicted.effect === 'allows' || evidence.webhooks === undefined) return { ...predicted, effect: 'allows' };
  if (evidence.webhooks.every(({ failurePolicy }) => failurePolicy === 'Ignore')) {
    const reason = 'the API server could not call the guard, and its failurePolicy is Ignore';
    return toFinding('allows', reason, adviseOnCalls(evidence));
  }
  const reason = 'the API server did not call the guard, although its mode is Enforce';
  const advice = advise('a new webhook needs some seconds; retry, then check the logs of the guard and the API server');
  return toFinding('allows', reason, advice);
}

/** Why the policy floor did not deny. Undefined if it is not installed. */
function explainFloor(evidence: Evidence, referrerKind: ReferrerKind): Finding | undefined {
  const predicted = predictFloor(evidence, [referrerKind]);
  if (predicted?.effect !== 'denies') return predicted && { ...predicted, effect: 'allows' };
  const reason = 'the policy floor did not deny it, although its bindings have the action Deny';
  return toFinding('allows', reason, POLICY_ADVICE);
}

import { joinWithAnd } from '../decision/printable-text.ts';
import type { ReferrerKind } from '../decision/references.ts';
import type { Mode } from '../decision/settings.ts';
import { ADMISSION_POLICIES, WEBHOOK_NAME } from '../install/webhook-configuration.ts';

export interface TrialResponse {
  readonly status: number;
  /** Empty if the deletion is allowed. */
  readonly message: string;
}

/** Part of the JSON of `verify`. */
export interface RegisteredWebhook {
  readonly configuration: string;
  readonly failurePolicy: string;
  readonly caBundle: boolean;
  /** Whether an annotation makes a controller set the caBundle. */
  readonly injected: boolean;
  /** `Service NAMESPACE/NAME:PORT` or a URL. */
  readonly target: string;
}

/** A binding of the policy floor. Part of the JSON of `verify`. */
export interface PolicyBinding {
  readonly policy: string;
  /** Its `validationActions`. Only `Deny` denies. */
  readonly actions: readonly string[];
}

export interface InstalledProtection {
  readonly webhooks: readonly RegisteredWebhook[];
  readonly floor: readonly PolicyBinding[];
  readonly mode: Mode | undefined;
}

/**
 * PROTECTED: configs in use cannot be deleted, and others can. BLOCKED: configs in use cannot be deleted, but the
 * denial has another cause, which denies every deletion of a rendered config. EXPOSED: configs in use can be deleted.
 * UNKNOWN: the test could not tell.
 */
export type ProtectionState = 'PROTECTED' | 'BLOCKED' | 'EXPOSED' | 'UNKNOWN';

/** Part of the JSON of `verify`. */
export interface Protection {
  readonly state: ProtectionState;
  /** Whether the state is PROTECTED. */
  readonly protected: boolean;
  readonly by: 'guard' | 'floor' | null;
  readonly explanation: string;
  readonly advice: string;
}

/** The registration of `machineconfig-guard dev`. */
const DEV_CONFIGURATION = /^machineconfig-guard-dev-/;

/** Messages of kube-apiserver (k8s.io/apiserver, admission/plugin/webhook and policy/validating). */
const DENIED_BY_WEBHOOK = /admission webhook "(?<webhook>[^"]+)" denied the request: (?<code>MCG_[A-Z_]+)?/;
const DENIED_BY_POLICY =
  /ValidatingAdmissionPolicy '(?<policy>[^']+)'(?: with binding '[^']+')? denied request: (?<reason>[\s\S]*)/;
const WEBHOOK_FAILED = /failed calling webhook "(?<webhook>[^"]+)"/;

const INSTALL_ADVICE = 'install the guard (docs/install.md)';
const LIST_PODS_COMMAND = 'oc -n machineconfig-guard get pods';

/** The first match counts. */
const CALL_FAILURES: readonly { pattern: RegExp; reason: string; advice: string }[] = [
  {
    pattern: /x509:/,
    reason: "the API server does not trust the guard's certificate",
    advice: 'apply all manifests of one rendering again, or wait for the injection of the caBundle',
  },
  {
    pattern: /service "[^"]+" not found/,
    reason: 'the Service of the webhook does not exist',
    advice:
      'install the guard again, or remove the webhook: ' +
      'oc delete validatingwebhookconfiguration machineconfig-guard',
  },
  {
    pattern: /no endpoints available|endpoints "[^"]+" not found|no service port/,
    reason: 'no guard pod is ready',
    advice: LIST_PODS_COMMAND,
  },
  {
    pattern: /^/,
    reason: 'the API server cannot reach the guard',
    advice: `${LIST_PODS_COMMAND},endpointslices`,
  },
];

export function assessProtection(
  { status, message }: TrialResponse,
  installed: InstalledProtection,
  referrerKind: ReferrerKind,
): Protection {
  if (status < 400) return assessAllowed(installed, referrerKind);
  const { webhook: denyingWebhook, code } = DENIED_BY_WEBHOOK.exec(message)?.groups ?? {};
  if (denyingWebhook === WEBHOOK_NAME) return assessGuardDenial(code, installed);
  const { policy, reason = '' } = DENIED_BY_POLICY.exec(message)?.groups ?? {};
  if (policy !== undefined && isFloorPolicy(policy)) return assessPolicyDenial(policy, reason);
  const failedWebhook = WEBHOOK_FAILED.exec(message)?.groups?.['webhook'];
  if (failedWebhook === WEBHOOK_NAME) {
    const { reason = '', advice = '' } = CALL_FAILURES.find(({ pattern }) => pattern.test(message)) ?? {};
    const effect = 'every rendered-config deletion is denied';
    return toUnprotected('BLOCKED', `${effect} because ${reason}. Configs in use are safe`, advice);
  }
  const otherWebhook = denyingWebhook ?? failedWebhook;
  const otherPolicy = policy === undefined ? 'an unknown component' : `the policy ${policy}`;
  const denier = otherWebhook === undefined ? otherPolicy : `the webhook ${otherWebhook}`;
  return toUnprotected(
    'UNKNOWN',
    `denied by ${denier}, so the guard's decision is unknown`,
    'see the answer; run verify again when the deletion is no longer denied there',
  );
}

export function isAdmissionError({ message }: TrialResponse): boolean {
  return [/admission webhook "/, DENIED_BY_POLICY, WEBHOOK_FAILED].some((pattern) => pattern.test(message));
}

function isFloorPolicy(policy: string): boolean {
  return Object.values(ADMISSION_POLICIES).includes(policy);
}

function assessGuardDenial(code: string | undefined, { webhooks }: InstalledProtection): Protection {
  if (code !== 'MCG_IN_USE') {
    const causes = "check the guard's logs, its RBAC and its connection to the API server";
    const advice = code === 'MCG_UNVERIFIED' ? causes : 'see the answer';
    return toUnprotected(
      'BLOCKED',
      `the guard answered ${code ?? 'without a code'} instead of MCG_IN_USE`,
      advice,
    );
  }
  const explanation = 'the guard denies the deletion of a config in use';
  const isDevOnly =
    webhooks.length > 0 && webhooks.every(({ configuration }) => DEV_CONFIGURATION.test(configuration));
  const protection = { state: 'PROTECTED', protected: true, by: 'guard', explanation, advice: '' } as const;
  if (!isDevOnly) return protection;
  const temporaryProtection = `${explanation}, but only until "machineconfig-guard dev" stops`;
  return { ...protection, explanation: temporaryProtection, advice: INSTALL_ADVICE };
}

/** A policy that fails also denies, with a reason of the API server. */
function assessPolicyDenial(policy: string, reason: string): Protection {
  if (reason.startsWith('MCG_IN_USE')) {
    const explanation = `the policy ${policy} denies the deletion of a config in use`;
    return { state: 'PROTECTED', protected: true, by: 'floor', explanation, advice: '' };
  }
  const advice = reason.startsWith('failed to configure')
    ? 'see the answer; after a restart of the API server or a CRD change the policy recovers within a minute'
    : `see the answer and the policy's status: oc get validatingadmissionpolicy ${policy} -o yaml`;
  return toUnprotected(
    'BLOCKED',
    `the policy ${policy} fails and denies the deletion. Configs in use are safe`,
    advice,
  );
}

function assessAllowed({ webhooks, floor, mode }: InstalledProtection, referrerKind: ReferrerKind): Protection {
  const floorGap = floor.length === 0 ? undefined : findFloorGap(floor, referrerKind);
  if (webhooks.length === 0) {
    const notInstalled = {
      reason: 'neither the webhook nor the policies are installed',
      advice: INSTALL_ADVICE,
    };
    const { reason, advice } = floorGap ?? notInstalled;
    return toUnprotected('EXPOSED', `the deletion is allowed: ${reason}`, advice);
  }
  const { reason, advice } = findGuardGap(webhooks, mode);
  const reasons = floorGap === undefined ? reason : `${reason}; ${floorGap.reason}`;
  return toUnprotected('EXPOSED', `the deletion is allowed: ${reasons}`, advice);
}

function findGuardGap(webhooks: readonly RegisteredWebhook[], mode: Mode | undefined) {
  if (mode !== undefined && mode !== 'Enforce') {
    const advice = `oc patch mcguard cluster --type merge -p '{"spec":{"mode":"Enforce"}}'`;
    return { reason: `the mode is ${mode}`, advice };
  }
  if (webhooks.some(({ failurePolicy }) => failurePolicy !== 'Ignore')) {
    const advice =
      'a new webhook needs some seconds; retry, then check the logs of the guard and the API server';
    return { reason: 'the API server did not call the guard, although its mode is Enforce', advice };
  }
  if (webhooks.some(({ caBundle }) => caBundle)) {
    const reason = 'the API server could not call the guard, and its failurePolicy is Ignore';
    return { reason, advice: LIST_PODS_COMMAND };
  }
  return {
    reason:
      'the webhook has no caBundle, so the API server does not trust the guard, and its failurePolicy is Ignore',
    advice: webhooks.some(({ injected }) => injected)
      ? 'wait for the injection of the caBundle; if it stays empty, check service-ca or cert-manager'
      : 'apply all manifests of one rendering again',
  };
}

/** Each policy checks the references of one kind. None checks builds. */
function findFloorGap(floor: readonly PolicyBinding[], referrerKind: ReferrerKind) {
  const policy = ADMISSION_POLICIES[referrerKind];
  if (policy === undefined)
    return { reason: 'the policies do not check MachineOSBuilds', advice: INSTALL_ADVICE };
  const actions = floor.find((binding) => binding.policy === policy)?.actions;
  if (actions === undefined) {
    return {
      reason: `the policy ${policy} has no binding`,
      advice: 'oc apply -k manifests/overlays/policy-floor',
    };
  }
  if (actions.includes('Deny')) {
    const command = `oc get validatingadmissionpolicy ${policy} -o yaml`;
    return {
      reason: `the policy ${policy} did not deny it, although its binding has the action Deny`,
      advice: `a new binding needs some seconds; retry, then run: ${command}`,
    };
  }
  const patch = '{"spec":{"validationActions":["Deny"]}}';
  return {
    reason: `the binding of the policy ${policy} has ${joinWithAnd(actions)} instead of Deny`,
    advice: `oc patch validatingadmissionpolicybinding ${policy} --type merge -p '${patch}'`,
  };
}

export function toUnprotected(
  state: Exclude<ProtectionState, 'PROTECTED'>,
  explanation: string,
  advice: string,
): Protection {
  return { state, protected: false, by: null, explanation, advice };
}

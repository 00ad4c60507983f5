import { joinWithAnd } from '../common/printable-text.ts';
import type { ReferrerKind } from '../decision/references.ts';
import type { Mode } from '../decision/settings.ts';
import { INSTALLED_NAME } from '../kube/api-paths.ts';
import { ADMISSION_POLICIES, WEBHOOK_NAME } from '../install/webhook-configuration.ts';
import {
  adviseOnTrust,
  adviseOnUnreachableGuard,
  type DeploymentState,
  diagnoseCallFailure,
  type Diagnosis,
  type GuardInstallation,
  type InstallationMethod,
} from './guard-installation.ts';

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
  readonly installation: InstallationMethod;
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
  /** Of the guard's Deployment. */
  readonly namespace: string;
  readonly webhooks: readonly RegisteredWebhook[];
  readonly floor: readonly PolicyBinding[];
  /** Undefined without a MachineConfigGuard. Enforce then applies. */
  readonly mode: Mode | undefined;
  /** Undefined if it does not exist or the user may not read it. */
  readonly deployment: DeploymentState | undefined;
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
  /** `other`: another webhook or policy, such as one of Kyverno or Gatekeeper. */
  readonly by: 'guard' | 'floor' | 'other' | null;
  readonly explanation: string;
  readonly advice: string;
}

/** Messages of kube-apiserver (k8s.io/apiserver, admission/plugin/webhook and policy/validating). */
const DENIED_BY_WEBHOOK = /admission webhook "(?<webhook>[^"]+)" denied the request: (?<code>MCG_[A-Z_]+)?/;
const DENIED_BY_POLICY =
  /ValidatingAdmissionPolicy '(?<policy>[^']+)'(?: with binding '[^']+')? denied request: (?<reason>[\s\S]*)/;
const WEBHOOK_FAILED = /failed calling webhook "(?<webhook>[^"]+)"/;

/** The webhooks of policy engines. Kyverno adds a prefix for some kinds of policies. */
const POLICY_ENGINES: readonly { readonly name: string; readonly webhook: RegExp }[] = [
  { name: 'Kyverno', webhook: /(?:^|\.)validate\.kyverno\.svc/ },
  { name: 'Gatekeeper', webhook: /^validation\.gatekeeper\.sh$/ },
];

export const INSTALL_ADVICE = 'install the guard (docs/install.md)';
export const ENFORCE_COMMAND = `oc patch mcguard cluster --type merge -p '{"spec":{"mode":"Enforce"}}'`;
export const FLOOR_LIMITS = 'the policies can miss a new reference and do not check MachineOSBuilds';
const UNVERIFIED_ADVICE = "check the guard's logs, its RBAC and its connection to the API server";

/**
 * Assesses the answer to the deletion of a config in use.
 *
 * @param unused the answer to the deletion of an unused config: it shows whether every deletion is denied
 */
export function assessProtection(
  { status, message }: TrialResponse,
  installed: InstalledProtection,
  referrerKind: ReferrerKind,
  unused: TrialResponse | null = null,
): Protection {
  if (status < 400) return assessAllowed(installed, referrerKind);
  const blocked = assessBlockage(message, installed);
  if (blocked !== undefined) return blocked;
  const { webhook: denyingWebhook, code } = DENIED_BY_WEBHOOK.exec(message)?.groups ?? {};
  // The guard can deny a config in use from its index while it denies all others.
  const blockedUnused =
    unused === null || unused.status < 400 ? undefined : assessBlockage(unused.message, installed);
  if (denyingWebhook === WEBHOOK_NAME) {
    const answer = code ?? 'without a code';
    return code === 'MCG_IN_USE'
      ? (blockedUnused ?? toGuardProtection(installed))
      : toUnprotected('BLOCKED', `the guard answered ${answer} instead of MCG_IN_USE`, 'see the answer');
  }
  const { policy, reason = '' } = DENIED_BY_POLICY.exec(message)?.groups ?? {};
  if (policy !== undefined && isFloorPolicy(policy)) {
    return assessFloorDenial(policy, reason, installed, blockedUnused);
  }
  const denier = describeDenier(denyingWebhook ?? WEBHOOK_FAILED.exec(message)?.groups?.['webhook'], policy);
  const isDenial = denyingWebhook !== undefined || policy !== undefined;
  const absence = findGuardAbsence(installed);
  // A component that also denies other deletions may not know which configs are in use.
  if (isDenial && absence !== undefined && unused !== null && unused.status < 400) {
    const explanation = `only ${denier} denies the deletion of a config in use: ${absence.reason}`;
    const advice = `${absence.advice}; docs/alternatives.md explains what other policies can miss`;
    return { state: 'PROTECTED', protected: true, by: 'other', explanation, advice };
  }
  return toUnprotected(
    'UNKNOWN',
    `denied by ${denier}, so the guard's decision is unknown`,
    'see the answer; run verify again when the deletion is no longer denied there',
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
function assessBlockage(message: string, installed: InstalledProtection): Protection | undefined {
  if (isUnverified(message)) {
    const reason = 'the guard cannot list the references (MCG_UNVERIFIED)';
    return toBlocked({ reason, advice: UNVERIFIED_ADVICE });
  }
  if (WEBHOOK_FAILED.exec(message)?.groups?.['webhook'] !== WEBHOOK_NAME) return undefined;
  return toBlocked(diagnoseCallFailure(message, findInstallation(installed)));
}

export function toBlocked({ reason, advice }: Diagnosis): Protection {
  const effect = 'every rendered-config deletion is denied';
  return toUnprotected('BLOCKED', `${effect} because ${reason}. Configs in use are safe`, advice);
}

/** A webhook of `dev` can exist beside that of the manifests. It fails open, so its failures deny nothing. */
export function findMainWebhook(webhooks: readonly RegisteredWebhook[]): RegisteredWebhook | undefined {
  return webhooks.find(({ installation }) => installation !== 'dev') ?? webhooks[0];
}

function findInstallation({ namespace, webhooks, deployment }: InstalledProtection): GuardInstallation {
  const webhook = findMainWebhook(webhooks);
  return {
    namespace,
    method: webhook?.installation ?? 'rendered',
    configuration: webhook?.configuration ?? INSTALLED_NAME,
    hostNetwork: deployment?.hostNetwork === true,
  };
}

function describeDenier(webhook: string | undefined, policy: string | undefined): string {
  if (webhook === undefined) return policy === undefined ? 'an unknown component' : `the policy ${policy}`;
  const engine = POLICY_ENGINES.find((candidate) => candidate.webhook.test(webhook));
  return engine === undefined ? `the webhook ${webhook}` : `${engine.name} (webhook ${webhook})`;
}

/** Why the guard does not deny, as far as its settings tell. */
function findGuardAbsence({ webhooks, mode }: InstalledProtection): Diagnosis | undefined {
  if (webhooks.length === 0) return { reason: 'the guard is not installed', advice: INSTALL_ADVICE };
  if (mode === undefined || mode === 'Enforce') return undefined;
  return { reason: `the mode of the guard is ${mode}`, advice: ENFORCE_COMMAND };
}

function toGuardProtection({ webhooks }: InstalledProtection): Protection {
  const explanation = 'the guard denies the deletion of a config in use';
  const isDevOnly = webhooks.length > 0 && webhooks.every(({ installation }) => installation === 'dev');
  const protection = { state: 'PROTECTED', protected: true, by: 'guard', explanation, advice: '' } as const;
  if (!isDevOnly) return protection;
  const temporaryProtection = `${explanation}, but only until "machineconfig-guard dev" stops`;
  return { ...protection, explanation: temporaryProtection, advice: INSTALL_ADVICE };
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
  installed: InstalledProtection,
  blockedUnused: Protection | undefined,
): Protection {
  if (reason.startsWith('MCG_IN_USE')) {
    if (blockedUnused !== undefined) return blockedUnused;
    const protection = { state: 'PROTECTED', protected: true, by: 'floor' } as const;
    const absence = findGuardAbsence(installed);
    if (absence === undefined) {
      const order = 'before the API server calls the guard';
      const explanation = `the policy ${policy} denies the deletion of a config in use, ${order}`;
      return { ...protection, explanation, advice: '' };
    }
    const explanation = `only the policy ${policy} denies the deletion of a config in use: ${absence.reason}`;
    return { ...protection, explanation, advice: `${absence.advice}; ${FLOOR_LIMITS}` };
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

function assessAllowed(installed: InstalledProtection, referrerKind: ReferrerKind): Protection {
  const { webhooks, floor } = installed;
  const floorGap = floor.length === 0 ? undefined : findFloorGap(floor, referrerKind);
  if (webhooks.length === 0) {
    const notInstalled = {
      reason: 'neither the webhook nor the policies are installed',
      advice: INSTALL_ADVICE,
    };
    const { reason, advice } = floorGap ?? notInstalled;
    return toUnprotected('EXPOSED', `the deletion is allowed: ${reason}`, advice);
  }
  const { reason, advice } = findGuardGap(installed);
  const reasons = floorGap === undefined ? reason : `${reason}; ${floorGap.reason}`;
  return toUnprotected('EXPOSED', `the deletion is allowed: ${reasons}`, advice);
}

function findGuardGap(installed: InstalledProtection): Diagnosis {
  const { webhooks, mode } = installed;
  if (mode !== undefined && mode !== 'Enforce')
    return { reason: `the mode is ${mode}`, advice: ENFORCE_COMMAND };
  if (webhooks.some(({ failurePolicy }) => failurePolicy !== 'Ignore')) {
    const advice =
      'a new webhook needs some seconds; retry, then check the logs of the guard and the API server';
    return { reason: 'the API server did not call the guard, although its mode is Enforce', advice };
  }
  const installation = findInstallation(installed);
  if (webhooks.some(({ caBundle }) => caBundle)) {
    const reason = 'the API server could not call the guard, and its failurePolicy is Ignore';
    return { reason, advice: adviseOnUnreachableGuard(installation) };
  }
  return {
    reason:
      'the webhook has no caBundle, so the API server does not trust the guard, and its failurePolicy is Ignore',
    advice: adviseOnTrust(installation),
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

import type { Mode } from '../decision/settings.ts';
import type { ReferrerKind } from '../decision/references.ts';
import { joinWithAnd } from '../decision/printable-text.ts';
import { ADMISSION_POLICIES, WEBHOOK_NAME } from '../install/webhook-configuration.ts';

/** What the API server answered to the dry-run deletion of a config that is in use. */
export interface TrialResponse {
  readonly status: number;
  /** Of its Status object; empty where the deletion would have been carried out. */
  readonly message: string;
}

/** A registration of the guard's webhook. */
export interface RegisteredWebhook {
  /** Name of the ValidatingWebhookConfiguration. */
  readonly configuration: string;
  readonly failurePolicy: string;
  readonly caBundle: boolean;
  /** Is somebody asked, by an annotation, to fill in the caBundle? */
  readonly injected: boolean;
  /** Where the API server calls: `Service NAMESPACE/NAME:PORT`, or a URL. */
  readonly target: string;
}

/** One of the floor's policies that is bound. */
export interface PolicyBinding {
  readonly policy: string;
  /** `validationActions` of the binding: only `Deny` refuses. */
  readonly actions: readonly string[];
}

/** What is installed, as far as it explains an answer. */
export interface InstalledProtection {
  readonly webhooks: readonly RegisteredWebhook[];
  readonly floor: readonly PolicyBinding[];
  /** Undefined where there is no MachineConfigGuard. */
  readonly mode: Mode | undefined;
}

/** What the trial shows. */
export interface Protection {
  readonly isProtected: boolean;
  /** Who refused. */
  readonly by: 'guard' | 'floor' | undefined;
  /** A sentence. */
  readonly explanation: string;
  /** What to do; empty where nothing is. */
  readonly advice: string;
}

/** The registration that `dev` makes for a session. */
const SESSION = /^machineconfig-guard-dev-/;

/** The sentences of kube-apiserver (k8s.io/apiserver, admission/plugin/webhook and admission/plugin/policy/validating). */
const DENIED = /admission webhook "(?<webhook>[^"]+)" denied the request: (?<code>MCG_[A-Z_]+)?/;
const BY_POLICY =
  /ValidatingAdmissionPolicy '(?<policy>[^']+)'(?: with binding '[^']+')? denied request: (?<why>[\s\S]*)/;
const NOT_ASKED = /failed calling webhook "(?<webhook>[^"]+)"/;

const INSTALL = 'oc apply -k manifests/overlays/service-ca';

/**
 * Whether a config in use is protected, who protects it, and if not why: from the API server's answer, what is installed, and what
 * kind of object uses the config.
 */
export function assessProtection(
  { status, message }: TrialResponse,
  installed: InstalledProtection,
  usedBy: ReferrerKind,
): Protection {
  if (status < 400) return letGo(installed, usedBy);
  const denied = DENIED.exec(message)?.groups;
  if (denied?.['webhook'] === WEBHOOK_NAME) return deniedByGuard(denied['code'], installed);
  const { policy, why = '' } = BY_POLICY.exec(message)?.groups ?? {};
  if (policy !== undefined && Object.values(ADMISSION_POLICIES).includes(policy)) return deniedByPolicy(policy, why);
  const unasked = NOT_ASKED.exec(message)?.groups?.['webhook'];
  if (unasked === WEBHOOK_NAME) return notAsked(message);
  const other = denied?.['webhook'] ?? unasked;
  const who =
    other !== undefined ? `the webhook ${other}` : policy !== undefined ? `the policy ${policy}` : 'somebody else';
  return no(
    `the deletion was refused, but by ${who}: whether the guard would have refused it too does not show`,
    'see the answer; try again once that no longer refuses it',
  );
}

/** Is this the answer of somebody who had to agree to the deletion, rather than of the API server itself? */
export function isAdmissionError({ message }: TrialResponse): boolean {
  return [/admission webhook "/, BY_POLICY, NOT_ASKED].some((sentence) => sentence.test(message));
}

function deniedByGuard(code: string | undefined, { webhooks }: InstalledProtection): Protection {
  if (code === 'MCG_IN_USE') {
    const lasting = webhooks.some(({ configuration }) => !SESSION.test(configuration));
    const yes = { isProtected: true, by: 'guard' } as const;
    const explanation = 'the guard refuses the deletion of a config in use';
    if (lasting || webhooks.length === 0) return { ...yes, explanation, advice: '' };
    return {
      ...yes,
      explanation: `${explanation}, but only until a session of "machineconfig-guard dev" ends`,
      advice: INSTALL,
    };
  }
  return no(
    `the guard answered ${code ?? 'without a code'} where MCG_IN_USE was due`,
    code === 'MCG_UNVERIFIED'
      ? "nothing is deleted meanwhile; look at the guard's log, its rights and its way to the API server"
      : 'see the answer',
  );
}

/** A policy that cannot decide refuses as well, in words of the API server instead of its own. */
function deniedByPolicy(policy: string, why: string): Protection {
  if (why.startsWith('MCG_IN_USE')) {
    const explanation = `the policy ${policy} refuses the deletion of a config in use`;
    return { isProtected: true, by: 'floor', explanation, advice: '' };
  }
  return no(
    `deletions are refused, but not by a decision: the policy ${policy} cannot decide`,
    why.startsWith('failed to configure')
      ? 'see the answer; after a restart of the API server or a change of definitions it passes by itself within a minute'
      : `see the answer and the policy's status: oc get validatingadmissionpolicy ${policy} -o yaml`,
  );
}

/** Refused because nobody could be asked: nothing is deleted, and nothing is decided either. */
function notAsked(message: string): Protection {
  const cause = message.includes('x509:')
    ? [
        "the API server does not trust the guard's certificate",
        'apply the manifests of one rendering again, or wait for the certificate to be injected',
      ]
    : /service "[^"]+" not found/.test(message)
      ? [
          'the webhook is registered, but its Service is gone',
          'install the guard again, or remove the registration: oc delete validatingwebhookconfiguration machineconfig-guard',
        ]
      : /no endpoints available|endpoints "[^"]+" not found|no service port/.test(message)
        ? ['no pod of the guard is ready', 'oc -n machineconfig-guard get pods']
        : ['the API server cannot reach the guard', 'oc -n machineconfig-guard get pods,endpointslices'];
  const [why = '', advice = ''] = cause;
  return no(`deletions are refused, but not by the guard's decision: ${why}`, advice);
}

/** It would have been deleted: of everything that can be the reason, the one to deal with first. */
function letGo(installed: InstalledProtection, usedBy: ReferrerKind): Protection {
  const { webhooks, mode } = installed;
  const floor = floorLetGo(installed.floor, usedBy);
  if (webhooks.length === 0) {
    return floor === undefined
      ? no('it would be deleted: neither the webhook nor the policies are installed', INSTALL)
      : no(`it would be deleted: ${floor.why}`, floor.advice);
  }
  const because = (why: string, advice: string): Protection =>
    no(`it would be deleted: ${[why, ...(floor === undefined ? [] : [floor.why])].join('; ')}`, advice);
  if (mode !== undefined && mode !== 'Enforce') {
    return because(`the mode is ${mode}`, `oc patch mcguard cluster --type merge -p '{"spec":{"mode":"Enforce"}}'`);
  }
  if (webhooks.some(({ failurePolicy }) => failurePolicy !== 'Ignore')) {
    return because(
      'the API server did not ask the guard, although it is registered and enforces',
      'a registration takes a moment to work; try again, then look at the log of the guard and of the API server',
    );
  }
  if (webhooks.some(({ caBundle }) => caBundle)) {
    return because(
      'the API server could not ask the guard, and its failurePolicy is Ignore',
      'oc -n machineconfig-guard get pods',
    );
  }
  return because(
    'the webhook has no caBundle, so the API server does not trust the guard, and its failurePolicy is Ignore',
    webhooks.some(({ injected }) => injected)
      ? 'wait for the caBundle to be injected; if it stays empty, look at what injects it (service-ca, cert-manager)'
      : 'apply the manifests of one rendering again',
  );
}

/** Why the floor let it pass; undefined where there is none. Each of its policies knows one kind of object, and none knows builds. */
function floorLetGo(
  floor: readonly PolicyBinding[],
  usedBy: ReferrerKind,
): { why: string; advice: string } | undefined {
  if (floor.length === 0) return undefined;
  const policy = ADMISSION_POLICIES[usedBy];
  if (policy === undefined) return { why: 'the policies know nothing of builds', advice: INSTALL };
  const actions = floor.find((bound) => bound.policy === policy)?.actions;
  if (actions === undefined) {
    return { why: `the policy ${policy} has no binding`, advice: 'oc apply -k manifests/overlays/policy-floor' };
  }
  if (actions.includes('Deny')) {
    return {
      why: `the policy ${policy} did not refuse, although its binding says Deny`,
      advice: `a binding takes a moment to work; try again, then see: oc get validatingadmissionpolicy ${policy} -o yaml`,
    };
  }
  return {
    why: `the binding of the policy ${policy} says ${joinWithAnd(actions)} instead of Deny`,
    advice: `oc patch validatingadmissionpolicybinding ${policy} --type merge -p '{"spec":{"validationActions":["Deny"]}}'`,
  };
}

function no(explanation: string, advice: string): Protection {
  return { isProtected: false, by: undefined, explanation, advice };
}

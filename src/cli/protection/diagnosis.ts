import { type Advice, advise } from '../../client/output/advice.ts';
import { joinWithAnd } from '../../common/printable-text.ts';
import type { ReferrerKind } from '../../decision/references.ts';
import { ADMISSION_POLICIES } from '../../install/webhook-configuration.ts';
import { INSTALLED_NAME } from '../../kube/api-paths.ts';
import { type Evidence, findMainWebhook, type InstallationMethod, type PolicyBinding } from './evidence.ts';

/**
 * PROTECTED: configs in use cannot be deleted, and others can. BLOCKED: configs in use cannot be deleted, but the
 * denial has another cause, which denies every deletion of a rendered config. EXPOSED: configs in use can be deleted.
 * UNKNOWN: the evidence or the test could not tell.
 */
export type ProtectionState = 'PROTECTED' | 'BLOCKED' | 'EXPOSED' | 'UNKNOWN';

/** Part of the JSON of `verify` and `status`. */
export interface Protection {
  readonly state: ProtectionState;
  /** Whether the state is PROTECTED. */
  readonly protected: boolean;
  /** `other`: another webhook or policy, such as one of Kyverno or Gatekeeper. */
  readonly by: 'guard' | 'floor' | 'other' | null;
  readonly explanation: string;
  readonly advice: Advice | null;
}

export interface Diagnosis {
  readonly reason: string;
  readonly advice: Advice;
}

/** What decides the advice about a guard that the API server cannot call. */
type GuardObjects = Pick<Evidence, 'deployment' | 'namespace' | 'webhooks'>;

export const INSTALL_ADVICE = advise('install the guard (docs/install.md)');
const ENFORCE_ADVICE = advise(
  'set the mode Enforce',
  ['oc', 'patch', 'mcguard', 'cluster', '--type=merge'],
  ['-p', '{"spec":{"mode":"Enforce"}}'],
);
const FLOOR_LIMITS = 'The policies can miss a new reference and do not check MachineOSBuilds';

export function toProtected(
  by: Exclude<Protection['by'], null>,
  explanation: string,
  advice: Advice | null = null,
): Protection {
  return { state: 'PROTECTED', protected: true, by, explanation, advice };
}

export function toUnprotected(
  state: Exclude<ProtectionState, 'PROTECTED'>,
  explanation: string,
  advice: Advice,
): Protection {
  return { state, protected: false, by: null, explanation, advice };
}

export function toBlocked({ reason, advice }: Diagnosis): Protection {
  const effect = 'every rendered-config deletion is denied';
  return toUnprotected('BLOCKED', `${effect} because ${reason}. Configs in use are safe`, advice);
}

export function toFloorProtection(explanation: string, { reason, advice }: Diagnosis): Protection {
  return toProtected('floor', `${explanation}: ${reason}. ${FLOOR_LIMITS}`, advice);
}

/** Why the guard does not deny, as far as its settings tell. */
export function findGuardAbsence({ webhooks, mode }: Pick<Evidence, 'webhooks' | 'mode'>): Diagnosis | undefined {
  if (webhooks.length === 0) return { reason: 'the guard is not installed', advice: INSTALL_ADVICE };
  if (mode === undefined || mode === 'Enforce') return undefined;
  return { reason: `the mode of the guard is ${mode}`, advice: ENFORCE_ADVICE };
}

/** Why the API server cannot call the guard, as far as the objects of the cluster tell. */
export function findCallFailure(evidence: GuardObjects): Diagnosis | undefined {
  const { namespace, webhooks, deployment } = evidence;
  const webhook = findMainWebhook(webhooks);
  // Without a caBundle, the API server checks the certificate of a URL with the CAs of its host.
  if (webhook?.caBundle === false && webhook.target.startsWith('Service ')) {
    return { reason: 'the webhook has no caBundle', advice: adviseOnTrust(evidence) };
  }
  // The Deployment says nothing about a webhook with a URL or of another namespace.
  if (webhook?.target.startsWith(`Service ${namespace}/`) !== true) return undefined;
  if (deployment === null) return { reason: 'its Deployment does not exist', advice: INSTALL_ADVICE };
  return deployment?.readyReplicas === 0 ? diagnoseMissingPod(namespace) : undefined;
}

/** Each policy checks the references of one kind. None checks builds. */
export function findFloorGap(floor: readonly PolicyBinding[], referrerKind: ReferrerKind): Diagnosis | undefined {
  const policy = ADMISSION_POLICIES[referrerKind];
  if (policy === undefined) return { reason: 'the policies do not check MachineOSBuilds', advice: INSTALL_ADVICE };
  const actions = floor.find((binding) => binding.policy === policy)?.actions;
  if (actions === undefined) {
    const advice = advise('apply the policy floor', ['oc', 'apply', '-k', 'manifests/overlays/policy-floor']);
    return { reason: `the policy ${policy} has no binding`, advice };
  }
  if (actions.includes('Deny')) return undefined;
  const patch = '{"spec":{"validationActions":["Deny"]}}';
  return {
    reason: `the binding of the policy ${policy} has ${joinWithAnd(actions)} instead of Deny`,
    advice: advise(
      'let the binding deny',
      ['oc', 'patch', 'validatingadmissionpolicybinding', policy, '--type=merge'],
      ['-p', patch],
    ),
  };
}

/** @param message the API server's error about its call */
export function diagnoseCallFailure(message: string, objects: GuardObjects): Diagnosis {
  if (message.includes('x509:')) {
    return {
      reason: "the API server does not trust the guard's certificate",
      advice: adviseOnTrust(objects),
    };
  }
  if (/service "[^"]+" not found/.test(message)) {
    const { method, configuration } = identifyInstallation(objects);
    const manifests = method === 'rendered' ? 'the rendered manifests' : 'the overlay';
    const advice = adviseRemoval(`apply ${manifests} again, or remove the webhook`, configuration);
    return { reason: 'the Service of the webhook does not exist', advice };
  }
  if (/no endpoints available|endpoints "[^"]+" not found|no service port/.test(message)) {
    return diagnoseMissingPod(objects.namespace);
  }
  return { reason: 'the API server cannot reach the guard', advice: adviseOnUnreachableGuard(objects) };
}

export function adviseOnUnreachableGuard({ namespace, deployment, webhooks }: GuardObjects): Advice {
  const { method, configuration } = identifyInstallation({ webhooks });
  if (method === 'dev') return adviseOnDev(configuration);
  return deployment?.hostNetwork === true
    ? advise('if the pods are ready, let the API servers reach port 9843 of their nodes', toGetCommand(namespace), [
        '-o',
        'wide',
      ])
    : advise('look at the pods and the addresses of the Service', toGetCommand(namespace, 'pods,endpointslices'));
}

function identifyInstallation({ webhooks }: Pick<GuardObjects, 'webhooks'>) {
  const webhook = findMainWebhook(webhooks);
  return {
    method: webhook?.installation ?? 'rendered',
    configuration: webhook?.configuration ?? INSTALLED_NAME,
  };
}

function diagnoseMissingPod(namespace: string): Diagnosis {
  return { reason: 'no guard pod is ready', advice: advise('look at the pods', toGetCommand(namespace)) };
}

function toGetCommand(namespace: string, resources = 'pods'): string[] {
  return ['oc', 'get', resources, '-n', namespace];
}

/** For a webhook without a caBundle, or with another one than that of the guard. */
function adviseOnTrust(objects: GuardObjects): Advice {
  const { method, configuration } = identifyInstallation(objects);
  const advice: Readonly<Record<InstallationMethod, Advice>> = {
    dev: adviseOnDev(configuration),
    'service-ca': adviseOnInjection('the service CA', toGetCommand('openshift-service-ca')),
    'cert-manager': adviseOnInjection('cert-manager', toGetCommand(objects.namespace, 'certificates')),
    rendered: advise('apply all manifests of one rendering again'),
  };
  return advice[method];
}

function adviseOnInjection(injector: string, command: readonly string[]): Advice {
  return advise(`wait until ${injector} has injected the caBundle; if it does not, look at`, command);
}

function adviseOnDev(configuration: string): Advice {
  return adviseRemoval('start the command dev again, or remove its webhook', configuration);
}

function adviseRemoval(text: string, configuration: string): Advice {
  return advise(text, ['oc', 'delete', 'validatingwebhookconfiguration', configuration]);
}

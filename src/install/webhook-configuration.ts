import type { V1ValidatingWebhookConfiguration } from '@kubernetes/client-node';
import type { ReferrerKind } from '../mco/referrer.ts';

/** The API server puts it before every audit annotation of the guard. */
export const WEBHOOK_NAME = 'guard.machineconfig-guard.io';

export const POLICY_BINDINGS_PATH = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings';

/** The only match condition of the manifests. */
export const MATCH_CONDITION = 'oldObject.metadata.name.startsWith("rendered-")';

/** The policy floor, keyed by the kind that each checks (manifests/overlays/policy-floor). */
export const ADMISSION_POLICIES: Readonly<Partial<Record<ReferrerKind, string>>> = {
  Node: 'nodes.machineconfig-guard.io',
  MachineConfigPool: 'pools.machineconfig-guard.io',
};

/** Controllers that set the caBundle, by the annotation that asks for it. */
const INJECTORS = {
  'service.beta.openshift.io/inject-cabundle': 'service-ca',
  'cert-manager.io/inject-ca-from': 'cert-manager',
} as const;

export type Injector = (typeof INJECTORS)[keyof typeof INJECTORS];

/** Undefined if the manifest contains the caBundle. */
export function findInjector({ metadata }: V1ValidatingWebhookConfiguration): Injector | undefined {
  const { annotations = {} } = metadata ?? {};
  return Object.entries(INJECTORS).find(([annotation]) => annotation in annotations)?.[1];
}

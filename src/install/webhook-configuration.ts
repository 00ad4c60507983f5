import type { ReferrerKind } from '../decision/references.ts';

/** The fields that this program reads. */
export interface StoredWebhookConfiguration {
  readonly metadata?: {
    readonly name?: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly webhooks?: readonly {
    readonly name?: string;
    /** The API server sets its default. */
    readonly failurePolicy: string;
    readonly clientConfig?: {
      readonly caBundle?: string;
      readonly url?: string;
      readonly service?: { readonly name?: string; readonly namespace?: string; readonly port?: number };
    };
  }[];
}

/** The API server puts it before every audit annotation of the guard. */
export const WEBHOOK_NAME = 'guard.machineconfig-guard.io';

export const POLICY_BINDINGS_PATH = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings';

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
export function findInjector({ metadata }: StoredWebhookConfiguration): Injector | undefined {
  const { annotations = {} } = metadata ?? {};
  return Object.entries(INJECTORS).find(([annotation]) => annotation in annotations)?.[1];
}

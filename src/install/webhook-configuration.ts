import type { ReferrerKind } from '../decision/references.ts';
import { MCO_GROUP } from '../kube/api-paths.ts';

interface WebhookConfigurationOptions {
  /** The default is the name in manifests/base. */
  readonly name?: string;
  /** For `dev` and tests. The manifests name a Service. */
  readonly clientConfig: { readonly url: string; readonly caBundle: string };
  /** If the guard does not answer, `Fail` denies and `Ignore` allows. */
  readonly failurePolicy: 'Fail' | 'Ignore';
}

/** The fields that this program reads. */
export interface StoredWebhookConfiguration {
  readonly metadata?: { readonly name?: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly webhooks?: readonly {
    readonly name?: string;
    readonly failurePolicy?: string;
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

export function buildWebhookConfiguration({
  name = 'machineconfig-guard',
  clientConfig,
  failurePolicy,
}: WebhookConfigurationOptions) {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name },
    webhooks: [
      {
        name: WEBHOOK_NAME,
        admissionReviewVersions: ['v1'],
        clientConfig,
        rules: [
          {
            apiGroups: [MCO_GROUP],
            apiVersions: ['*'],
            operations: ['DELETE'],
            resources: ['machineconfigs'],
            scope: 'Cluster',
          },
        ],
        // In a DELETECOLLECTION request.name is empty.
        matchConditions: [{ name: 'rendered', expression: 'oldObject.metadata.name.startsWith("rendered-")' }],
        matchPolicy: 'Equivalent',
        // The guard writes Events, but not for a dry run.
        sideEffects: 'NoneOnDryRun',
        // The guard answers earlier: see src/decision/deadline.ts.
        timeoutSeconds: 5,
        failurePolicy,
      },
    ],
  } as const;
}

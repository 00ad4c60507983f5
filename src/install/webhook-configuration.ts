import type { ReferrerKind } from '../decision/references.ts';

/** Where the API server finds the webhook: an address (development, tests) or a Service (in the cluster). */
export type ClientConfig =
  | { readonly url: string; readonly caBundle: string }
  | {
      readonly service: {
        readonly name: string;
        readonly namespace: string;
        readonly path: string;
        readonly port: number;
      };
      readonly caBundle?: string;
    };

/** What distinguishes one registration of the guard from another. */
export interface WebhookConfigurationOptions {
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly clientConfig: ClientConfig;
  /** What the API server does when the guard does not answer: `Fail` refuses the deletion, `Ignore` lets it pass. */
  readonly failurePolicy: 'Fail' | 'Ignore';
}

/** A `ValidatingWebhookConfiguration` of `admissionregistration.k8s.io/v1`. */
export type WebhookConfiguration = ReturnType<typeof buildWebhookConfiguration>;

/** The name of the registration in a cluster where the guard is installed. */
const WEBHOOK_CONFIGURATION = 'machineconfig-guard';

/** The webhook's own name. The API server puts it before every audit annotation of the guard. */
export const WEBHOOK_NAME = 'guard.machineconfig-guard.io';

/** The policies that judge without the guard (manifests/overlays/policy-floor), by the kind of object that each of them knows. */
export const ADMISSION_POLICIES: Readonly<Partial<Record<ReferrerKind, string>>> = {
  Node: 'nodes.machineconfig-guard.io',
  MachineConfigPool: 'pools.machineconfig-guard.io',
};

/**
 * The registration of the guard: the deletion of rendered MachineConfigs and nothing else, so that nothing else in the
 * cluster can wait for it.
 */
export function buildWebhookConfiguration({ name, labels, clientConfig, failurePolicy }: WebhookConfigurationOptions) {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: name ?? WEBHOOK_CONFIGURATION, ...(labels === undefined ? {} : { labels }) },
    webhooks: [
      {
        name: WEBHOOK_NAME,
        admissionReviewVersions: ['v1'],
        clientConfig,
        rules: [
          {
            apiGroups: ['machineconfiguration.openshift.io'],
            apiVersions: ['*'],
            operations: ['DELETE'],
            resources: ['machineconfigs'],
            scope: 'Cluster',
          },
        ],
        // oldObject, not request.name: that is empty during a DELETECOLLECTION.
        matchConditions: [{ name: 'rendered', expression: 'oldObject.metadata.name.startsWith("rendered-")' }],
        matchPolicy: 'Equivalent',
        // Events are written, but none for a dry run.
        sideEffects: 'NoneOnDryRun',
        // The guard answers within 80 % of it; most denials take milliseconds.
        timeoutSeconds: 5,
        failurePolicy,
      },
    ],
  } as const;
}

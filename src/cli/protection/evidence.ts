import type { V1ValidatingWebhook, V1ValidatingWebhookConfiguration } from '@kubernetes/client-node';
import { orForbidden, readObject, type StoredList } from '../../client/cluster-access.ts';
import { readGuard, type StoredGuard } from '../../client/guard-report.ts';
import { readVersion } from '../../client/server-version.ts';
import { type Mode, parseSettings } from '../../api/settings.ts';
import {
  ADMISSION_POLICIES,
  findInjector,
  type Injector,
  MATCH_CONDITION,
  POLICY_BINDINGS_PATH,
  WEBHOOK_NAME,
} from '../../install/webhook-configuration.ts';
import { ADMISSION_POLICY } from '../../install/kubernetes-version.ts';
import { formatFlagLabels } from '../../install/profiles.ts';
import { deploymentPath, leasesPath, objectPath, WEBHOOK_CONFIGURATIONS_PATH } from '../../kube/api-paths.ts';
import { quote } from '../../diagnosis/quote.ts';
import type { KubeApi } from '../../kube/api.ts';
import { MCO_GROUP } from '../../mco/api-paths.ts';
import { INSTALLED_NAME } from '../../api/paths.ts';

/** What the objects of a cluster say about its guard. `undefined`: the user lacks the right. `null`: it is absent. */
export interface Evidence {
  readonly readAt: Date;
  readonly guard: StoredGuard | null | undefined;
  /** Null without a MachineConfigGuard. Enforce then applies. */
  readonly mode: Mode | null;
  readonly webhooks: readonly RegisteredWebhook[] | undefined;
  readonly floor: readonly PolicyBinding[] | undefined;
  readonly deployment: StoredObject | null | undefined;
  readonly lease: StoredObject | null | undefined;
  /** Whether the API server serves ValidatingAdmissionPolicy v1. */
  readonly servesPolicies: boolean;
}

/** A registration of the guard. Part of the JSON of `verify`. */
export interface RegisteredWebhook {
  /** The name of the ValidatingWebhookConfiguration. */
  readonly configuration: string;
  /** `Fail` or `Ignore`. */
  readonly failurePolicy: string;
  /** Whether there is one. */
  readonly caBundle: boolean;
  /** What injects the caBundle. `rendered`: it is in the manifest. */
  readonly installation: Injector | 'rendered';
  /** What the API server calls: `Service NAMESPACE/NAME:PORT`, or a URL. */
  readonly target: string;
  /** Of `render`, as its labels record them. Absent for other manifests. */
  readonly flags: string | undefined;
  /** What lets deletions pass that the manifests do not, such as `an objectSelector`. Absent if nothing does. */
  readonly alteration: string | undefined;
}

/** A binding of the policy floor. Part of the JSON of `verify` and `status`. */
export interface PolicyBinding {
  readonly policy: string;
  /** Only the action `Deny` denies. */
  readonly actions: readonly string[];
}

interface StoredObject {
  readonly metadata?: V1ValidatingWebhookConfiguration['metadata'];
  readonly spec?: {
    readonly replicas?: number;
    readonly validationActions?: readonly string[];
    readonly holderIdentity?: string | null;
    readonly renewTime?: string | null;
    readonly leaseDurationSeconds?: number | null;
  };
  readonly status?: { readonly readyReplicas?: number };
}

/** @throws ClusterAccessError also without the right to read the MachineConfigGuard, TimeoutError */
export async function readEvidence(api: KubeApi, signal: AbortSignal): Promise<Evidence> {
  // The first read fails soon if the API server is unreachable.
  const guard = await readGuard(api, signal);
  const read = async (path: string) => (await readObject<StoredObject>(api, path, 'get', signal)) ?? null;
  const [webhooks, floor, deployment, lease, version] = await Promise.all([
    orForbidden(readWebhooks(api, signal)),
    orForbidden(Promise.all(Object.values(ADMISSION_POLICIES).map((policy) => readBinding(policy, read)))),
    orForbidden(read(deploymentPath(INSTALLED_NAME, INSTALLED_NAME))),
    orForbidden(read(objectPath(leasesPath(INSTALLED_NAME), INSTALLED_NAME))),
    // It only adds a way out, so no error of it hides the state.
    readVersion(api, signal).catch(() => 0),
  ]);
  return {
    readAt: new Date(),
    guard: guard ?? null,
    mode: guard === undefined ? null : parseSettings(guard).mode,
    webhooks,
    floor: floor?.flat(),
    deployment,
    lease,
    servesPolicies: version >= ADMISSION_POLICY,
  };
}

export function findCondition(guard: StoredGuard | null | undefined, type: string) {
  return guard?.status?.conditions?.find((condition) => condition.type === type);
}

/** Undefined if the user may not read it, or if no pod holds it. */
export function findHeldLease(lease: Evidence['lease']): StoredObject['spec'] {
  return lease?.spec?.holderIdentity ? lease.spec : undefined;
}

async function readWebhooks(api: KubeApi, signal: AbortSignal): Promise<readonly RegisteredWebhook[]> {
  const path = WEBHOOK_CONFIGURATIONS_PATH;
  const list = await readObject<StoredList<V1ValidatingWebhookConfiguration>>(api, path, 'list', signal);
  return (list?.items ?? []).flatMap((stored) =>
    (stored.webhooks ?? [])
      .filter(({ name }) => name === WEBHOOK_NAME)
      .map(({ failurePolicy, clientConfig: { caBundle = '', url = '', service }, ...webhook }) => ({
        configuration: stored.metadata?.name ?? '',
        // The API server sets its default.
        failurePolicy: String(failurePolicy),
        caBundle: caBundle !== '',
        installation: findInjector(stored) ?? 'rendered',
        target: service ? `Service ${service.namespace}/${service.name}:${service.port ?? 443}` : url,
        flags: formatFlagLabels(stored.metadata?.labels) || undefined,
        alteration: findAlteration(webhook),
      })),
  );
}

/** A namespaceSelector never skips a MachineConfig. `oc apply` keeps what other clients have added. */
function findAlteration({
  objectSelector = {},
  matchConditions = [],
  rules,
}: Partial<V1ValidatingWebhook>): string | undefined {
  const { matchLabels = {}, matchExpressions = [] } = objectSelector;
  if (Object.keys(matchLabels).length + matchExpressions.length > 0) return 'an objectSelector';
  const condition = matchConditions.find(({ expression }) => expression !== MATCH_CONDITION);
  if (condition !== undefined) return `the match condition "${quote(condition.name)}"`;
  const isCalled = rules?.some(
    ({ apiGroups, operations, resources }) =>
      includes(apiGroups, MCO_GROUP) && includes(operations, 'DELETE') && includes(resources, 'machineconfigs'),
  );
  return isCalled === false ? 'no rule for the deletion of MachineConfigs' : undefined;
}

function includes(values: readonly string[] | undefined, value: string): boolean {
  return values?.includes(value) === true || values?.includes('*') === true;
}

/** Empty also if the cluster does not serve policies. */
async function readBinding(
  policy: string,
  read: (path: string) => Promise<StoredObject | null>,
): Promise<readonly PolicyBinding[]> {
  const binding = await read(objectPath(POLICY_BINDINGS_PATH, policy));
  return binding === null ? [] : [{ policy, actions: binding.spec?.validationActions ?? [] }];
}

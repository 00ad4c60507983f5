import { accessCluster, orForbidden, readObject } from '../../client/cluster-access.ts';
import type { StoredGuard } from '../../client/guard-report.ts';
import { type Mode, parseSettings } from '../../decision/settings.ts';
import {
  ADMISSION_POLICIES,
  findInjector,
  type Injector,
  POLICY_BINDINGS_PATH,
  type StoredWebhookConfiguration,
  WEBHOOK_NAME,
} from '../../install/webhook-configuration.ts';
import { formatFlagLabels } from '../../install/profiles.ts';
import {
  AUTHORITY_SECRET_PATH,
  deploymentPath,
  GUARD_PATH,
  INSTALLED_NAME,
  leasesPath,
  objectPath,
  WEBHOOK_CONFIGURATIONS_PATH,
} from '../../kube/api-paths.ts';
import { NEVER_ABORTED } from '../../common/wait.ts';
import type { KubeApi } from '../../kube/api.ts';
import { orUndefined } from '../../kube/errors.ts';

/** Part of the JSON of `verify`. */
export interface RegisteredWebhook {
  readonly configuration: string;
  readonly failurePolicy: string;
  readonly caBundle: boolean;
  /** What injects the caBundle. `rendered`: it is in the manifest. */
  readonly installation: Injector | 'rendered';
  /** `Service NAMESPACE/NAME:PORT` or a URL. */
  readonly target: string;
  /** Of `render`, as its labels record them. */
  readonly flags?: string | undefined;
}

/** A binding of the policy floor. Part of the JSON of `verify` and `status`. */
export interface PolicyBinding {
  readonly policy: string;
  /** Its `validationActions`. Only `Deny` denies. */
  readonly actions: readonly string[];
}

/** What the objects of a cluster say about its guard. `undefined`: the user lacks the right. `null`: it is absent. */
export interface Evidence {
  readonly readAt: Date;
  readonly guard: StoredGuard | null | undefined;
  /** Without a MachineConfigGuard, Enforce applies. */
  readonly mode: Mode | null;
  readonly webhooks: readonly RegisteredWebhook[] | undefined;
  readonly floor: readonly PolicyBinding[] | undefined;
  readonly deployment:
    { readonly replicas: number; readonly readyReplicas: number; readonly flags?: string } | null | undefined;
  /** The flags of the Secret of the authority. Empty without it. */
  readonly authorityFlags?: string | undefined;
  /** Null also without a leader. */
  readonly lease:
    { readonly holder: string; readonly renewedAt: string; readonly durationMs: number } | null | undefined;
}

interface StoredDeployment {
  readonly metadata?: StoredWebhookConfiguration['metadata'];
  readonly spec?: { readonly replicas?: number };
  readonly status?: { readonly readyReplicas?: number };
}

interface StoredLease {
  readonly spec?: {
    readonly holderIdentity?: string | null;
    readonly renewTime?: string | null;
    readonly leaseDurationSeconds?: number | null;
  };
}

const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';

/**
 * Reads the evidence, and sends no dry run.
 *
 * @throws ClusterAccessError also without the right to read the MachineConfigGuard, TimeoutError
 */
export async function readEvidence(api: KubeApi, signal = NEVER_ABORTED): Promise<Evidence> {
  // The first read fails soon if the API server is unreachable.
  const guard = (await readObject(api, GUARD_PATH, 'get', signal)) as StoredGuard | undefined;
  const [webhooks, floor, deployment, lease, authorityFlags] = await Promise.all([
    orForbidden(readWebhooks(api, signal)),
    orForbidden(readFloor(api, signal)),
    orForbidden(readDeployment(api, signal)),
    orForbidden(readLease(api, signal)),
    orForbidden(readAuthorityFlags(api, signal)),
  ]);
  const mode = guard === undefined ? null : parseSettings(guard).settings.mode;
  const objects = { webhooks, floor, deployment, lease, authorityFlags };
  return { readAt: new Date(), guard: guard ?? null, mode, ...objects };
}

export function findCondition(guard: StoredGuard | null | undefined, type: string) {
  return guard?.status?.conditions?.find((condition) => condition.type === type);
}

/** Any configuration can contain the webhook. */
async function readWebhooks(api: KubeApi, signal: AbortSignal): Promise<readonly RegisteredWebhook[]> {
  const list = (await readObject(api, WEBHOOK_CONFIGURATIONS_PATH, 'list', signal)) as
    { readonly items?: readonly StoredWebhookConfiguration[] | null } | undefined;
  return (list?.items ?? []).flatMap((stored) =>
    (stored.webhooks ?? [])
      .filter(({ name }) => name === WEBHOOK_NAME)
      .map(({ failurePolicy = 'Fail', clientConfig: { caBundle = '', url = '', service } = {} }) => {
        const configuration = stored.metadata?.name ?? '';
        const flags = formatFlagLabels(stored.metadata?.labels);
        const target = `Service ${service?.namespace}/${service?.name}:${service?.port ?? 443}`;
        return {
          configuration,
          failurePolicy,
          caBundle: caBundle !== '',
          installation: findInjector(stored) ?? 'rendered',
          target: service === undefined ? url : target,
          flags: flags === '' ? undefined : flags,
        };
      }),
  );
}

/** Empty if the cluster does not serve policies. */
async function readFloor(api: KubeApi, signal: AbortSignal): Promise<readonly PolicyBinding[]> {
  const bindings: PolicyBinding[] = [];
  for (const policy of Object.values(ADMISSION_POLICIES)) {
    const binding = (await readObject(api, objectPath(POLICY_BINDINGS_PATH, policy), 'get', signal)) as
      { readonly spec?: { readonly validationActions?: readonly string[] } } | undefined;
    if (binding !== undefined) bindings.push({ policy, actions: binding.spec?.validationActions ?? [] });
  }
  return bindings;
}

async function readDeployment(api: KubeApi, signal: AbortSignal): Promise<Evidence['deployment']> {
  const path = deploymentPath(INSTALLED_NAME, INSTALLED_NAME);
  const deployment = (await readObject(api, path, 'get', signal)) as StoredDeployment | undefined;
  if (deployment === undefined) return null;
  const { metadata, spec, status } = deployment;
  const flags = formatFlagLabels(metadata?.labels);
  return { replicas: spec?.replicas ?? 0, readyReplicas: status?.readyReplicas ?? 0, flags };
}

/** Without the private key. */
async function readAuthorityFlags(api: KubeApi, signal: AbortSignal): Promise<string> {
  const path = AUTHORITY_SECRET_PATH;
  const secret = (await accessCluster('get', path, signal, () =>
    orUndefined(api.json({ path, accept: METADATA, signal })),
  )) as StoredDeployment | undefined;
  return formatFlagLabels(secret?.metadata?.labels);
}

async function readLease(api: KubeApi, signal: AbortSignal): Promise<Evidence['lease']> {
  const path = objectPath(leasesPath(INSTALLED_NAME), INSTALLED_NAME);
  const { spec } = ((await readObject(api, path, 'get', signal)) ?? {}) as StoredLease;
  const { holderIdentity, renewTime, leaseDurationSeconds } = spec ?? {};
  if ((holderIdentity ?? '') === '' || typeof renewTime !== 'string') return null;
  return { holder: holderIdentity ?? '', renewedAt: renewTime, durationMs: (leaseDurationSeconds ?? 0) * 1_000 };
}

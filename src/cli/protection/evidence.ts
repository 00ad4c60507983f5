import { type Mode, parseSettings } from '../../decision/settings.ts';
import {
  ADMISSION_POLICIES,
  findInjector,
  type Injector,
  type StoredWebhookConfiguration,
  WEBHOOK_NAME,
} from '../../install/webhook-configuration.ts';
import {
  deploymentPath,
  GUARD_PATH,
  INSTALLED_NAME,
  objectPath,
  WEBHOOK_CONFIGURATIONS_PATH,
} from '../../kube/api-paths.ts';
import type { KubeApi } from '../../kube/api.ts';
import { orForbidden, readObject } from '../../client/cluster-access.ts';

/**
 * `dev`: `machineconfig-guard dev`. `service-ca` and `cert-manager`: an overlay or a rendering whose caBundle they
 * inject. `rendered`: the caBundle is in the manifest.
 */
export type InstallationMethod = Injector | 'dev' | 'rendered';

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

/** The guard's Deployment. Part of the JSON of `verify`. */
export interface DeploymentState {
  /** How many it wants. */
  readonly replicas: number;
  readonly readyReplicas: number;
  readonly hostNetwork: boolean;
}

/** What the cluster says about its guard without a test. */
export interface Evidence {
  /** Of the guard's Deployment. */
  readonly namespace: string;
  readonly webhooks: readonly RegisteredWebhook[];
  readonly floor: readonly PolicyBinding[];
  /** Undefined without a MachineConfigGuard. Enforce then applies. */
  readonly mode: Mode | undefined;
  /** `null`: it does not exist. `undefined`: the user lacks the right. */
  readonly deployment: DeploymentState | null | undefined;
}

const POLICY_BINDINGS_PATH = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings';
/** The registration of `machineconfig-guard dev`. */
const DEV_CONFIGURATION = /^machineconfig-guard-dev-/;

/** @throws ClusterAccessError, TimeoutError */
export async function readEvidence(api: KubeApi, namespace: string): Promise<Evidence> {
  const guard = await readObject(api, GUARD_PATH);
  return {
    namespace,
    webhooks: await readWebhooks(api),
    floor: await readFloor(api),
    mode: guard === undefined ? undefined : parseSettings(guard).settings.mode,
    deployment: await orForbidden(readDeployment(api, namespace)),
  };
}

/**
 * Any configuration can contain the webhook. `dev` uses another name.
 *
 * @throws ClusterAccessError, TimeoutError
 */
export async function readWebhooks(api: KubeApi): Promise<readonly RegisteredWebhook[]> {
  const list = (await readObject(api, WEBHOOK_CONFIGURATIONS_PATH, 'list')) as
    { readonly items?: readonly StoredWebhookConfiguration[] | null } | undefined;
  return (list?.items ?? []).flatMap((stored) =>
    (stored.webhooks ?? [])
      .filter(({ name }) => name === WEBHOOK_NAME)
      .map(({ failurePolicy = 'Fail', clientConfig: { caBundle = '', url = '', service } = {} }) => {
        const configuration = stored.metadata?.name ?? '';
        const injector = findInjector(stored);
        const target = `Service ${service?.namespace}/${service?.name}:${service?.port ?? 443}`;
        return {
          configuration,
          failurePolicy,
          caBundle: caBundle !== '',
          injected: injector !== undefined,
          installation: DEV_CONFIGURATION.test(configuration) ? 'dev' : (injector ?? 'rendered'),
          target: service === undefined ? url : target,
        };
      }),
  );
}

/** A webhook of `dev` can exist beside that of the manifests. It fails open, so its failures deny nothing. */
export function findMainWebhook(webhooks: readonly RegisteredWebhook[]): RegisteredWebhook | undefined {
  return webhooks.find(({ installation }) => installation !== 'dev') ?? webhooks[0];
}

/**
 * Empty if the cluster does not serve policies.
 *
 * @throws ClusterAccessError, TimeoutError
 */
export async function readFloor(api: KubeApi): Promise<readonly PolicyBinding[]> {
  const bindings: PolicyBinding[] = [];
  for (const policy of Object.values(ADMISSION_POLICIES)) {
    const binding = (await readObject(api, objectPath(POLICY_BINDINGS_PATH, policy))) as
      { readonly spec?: { readonly validationActions?: readonly string[] } } | undefined;
    if (binding !== undefined) bindings.push({ policy, actions: binding.spec?.validationActions ?? [] });
  }
  return bindings;
}

/** @throws ClusterAccessError, TimeoutError */
export async function readDeployment(api: KubeApi, namespace: string): Promise<DeploymentState | null> {
  const deployment = (await readObject(api, deploymentPath(namespace, INSTALLED_NAME))) as
    | {
        readonly spec?: {
          readonly replicas?: number;
          readonly template?: { readonly spec?: { readonly hostNetwork?: boolean } };
        };
        readonly status?: { readonly readyReplicas?: number };
      }
    | undefined;
  if (deployment === undefined) return null;
  const { spec, status } = deployment;
  return {
    replicas: spec?.replicas ?? 0,
    readyReplicas: status?.readyReplicas ?? 0,
    hostNetwork: spec?.template?.spec?.hostNetwork === true,
  };
}

import {
  findInjector,
  type Injector,
  type StoredWebhookConfiguration,
} from '../install/webhook-configuration.ts';
import type { KubeApi } from '../kube/api.ts';
import { deploymentPath, INSTALLED_NAME } from '../kube/api-paths.ts';
import { readObject } from './cluster-access.ts';

/**
 * `dev`: `machineconfig-guard dev`. `service-ca` and `cert-manager`: an overlay or a rendering whose caBundle they
 * inject. `rendered`: the caBundle is in the manifest.
 */
export type InstallationMethod = Injector | 'dev' | 'rendered';

/** The guard's Deployment. Part of the JSON of `verify`. */
export interface DeploymentState {
  /** How many it wants. */
  readonly replicas: number;
  readonly readyReplicas: number;
  readonly hostNetwork: boolean;
}

/** What decides the advice about a guard that the API server cannot call. */
export interface GuardInstallation {
  /** Of its Deployment. */
  readonly namespace: string;
  readonly method: InstallationMethod;
  /** The name of the webhook configuration. */
  readonly configuration: string;
  readonly hostNetwork: boolean;
}

export interface Diagnosis {
  readonly reason: string;
  readonly advice: string;
}

/** The registration of `machineconfig-guard dev`. */
const DEV_CONFIGURATION = /^machineconfig-guard-dev-/;

export function findInstallationMethod(configuration: StoredWebhookConfiguration): InstallationMethod {
  const isDev = DEV_CONFIGURATION.test(configuration.metadata?.name ?? '');
  return isDev ? 'dev' : (findInjector(configuration) ?? 'rendered');
}

/**
 * Undefined without the Deployment.
 *
 * @throws ClusterAccessError, TimeoutError
 */
export async function readDeployment(api: KubeApi, namespace: string): Promise<DeploymentState | undefined> {
  const deployment = (await readObject(api, deploymentPath(namespace, INSTALLED_NAME))) as
    | {
        readonly spec?: {
          readonly replicas?: number;
          readonly template?: { readonly spec?: { readonly hostNetwork?: boolean } };
        };
        readonly status?: { readonly readyReplicas?: number };
      }
    | undefined;
  if (deployment === undefined) return undefined;
  const { spec, status } = deployment;
  return {
    replicas: spec?.replicas ?? 0,
    readyReplicas: status?.readyReplicas ?? 0,
    hostNetwork: spec?.template?.spec?.hostNetwork === true,
  };
}

/** @param message the API server's error about its call */
export function diagnoseCallFailure(message: string, installation: GuardInstallation): Diagnosis {
  const { method, configuration } = installation;
  if (message.includes('x509:')) {
    return {
      reason: "the API server does not trust the guard's certificate",
      advice: adviseOnTrust(installation),
    };
  }
  if (/service "[^"]+" not found/.test(message)) {
    const manifests = method === 'rendered' ? 'the rendered manifests' : 'the overlay';
    const removal = `oc delete validatingwebhookconfiguration ${configuration}`;
    const advice = `apply ${manifests} again, or remove the webhook: ${removal}`;
    return { reason: 'the Service of the webhook does not exist', advice };
  }
  if (/no endpoints available|endpoints "[^"]+" not found|no service port/.test(message)) {
    return { reason: 'no guard pod is ready', advice: formatListPodsCommand(installation) };
  }
  return { reason: 'the API server cannot reach the guard', advice: adviseOnUnreachableGuard(installation) };
}

export function adviseOnUnreachableGuard(installation: GuardInstallation): string {
  if (installation.method === 'dev') return adviseOnDev(installation.configuration);
  const command = formatListPodsCommand(installation);
  return installation.hostNetwork
    ? `${command} -o wide; if they are ready, let the API servers reach port 9843 of these nodes`
    : `${command},endpointslices`;
}

export function formatListPodsCommand({ namespace }: Pick<GuardInstallation, 'namespace'>): string {
  return `oc -n ${namespace} get pods`;
}

/** For a webhook without a caBundle, or with another one than that of the guard. */
export function adviseOnTrust({ method, configuration, namespace }: GuardInstallation): string {
  switch (method) {
    case 'dev':
      return adviseOnDev(configuration);
    case 'service-ca':
      return adviseOnInjection('the service CA', 'oc -n openshift-service-ca get pods');
    case 'cert-manager':
      return adviseOnInjection('cert-manager', `oc -n ${namespace} get certificates`);
    case 'rendered':
      return 'apply all manifests of one rendering again';
    default:
      return method satisfies never;
  }
}

function adviseOnInjection(injector: string, command: string): string {
  return `wait until ${injector} has injected the caBundle; if it does not, run: ${command}`;
}

function adviseOnDev(configuration: string): string {
  const removal = `oc delete validatingwebhookconfiguration ${configuration}`;
  return `start "machineconfig-guard dev" again, or remove its webhook: ${removal}`;
}

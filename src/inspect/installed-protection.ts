import { parseSettings } from '../decision/settings.ts';
import { GUARD_PATH, objectPath, WEBHOOK_CONFIGURATIONS_PATH } from '../kube/api-paths.ts';
import type { KubeApi } from '../kube/api.ts';
import {
  ADMISSION_POLICIES,
  type StoredWebhookConfiguration,
  WEBHOOK_NAME,
} from '../install/webhook-configuration.ts';
import { isForbidden, readObject } from './cluster-access.ts';
import { findInstallationMethod, readDeployment } from './guard-installation.ts';
import type { InstalledProtection, PolicyBinding, RegisteredWebhook } from './protection.ts';

const POLICY_BINDINGS_PATH = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings';

/** @throws ClusterAccessError, TimeoutError */
export async function readInstalledProtection(api: KubeApi, namespace: string): Promise<InstalledProtection> {
  const guard = await readObject(api, GUARD_PATH);
  return {
    namespace,
    webhooks: await readWebhooks(api),
    floor: await readFloor(api),
    mode: guard === undefined ? undefined : parseSettings(guard).settings.mode,
    deployment: await orForbidden(readDeployment(api, namespace)),
  };
}

/** Awaits a read. Returns undefined if the user lacks the right to it. */
export async function orForbidden<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}

/**
 * Any configuration can contain the webhook. `dev` uses another name.
 *
 * @throws ClusterAccessError, TimeoutError
 */
export async function readWebhooks(api: KubeApi): Promise<readonly RegisteredWebhook[]> {
  const list = (await readObject(api, WEBHOOK_CONFIGURATIONS_PATH, 'list')) as
    { readonly items?: readonly StoredWebhookConfiguration[] | null } | undefined;
  return (list?.items ?? []).flatMap((configuration) =>
    (configuration.webhooks ?? [])
      .filter(({ name }) => name === WEBHOOK_NAME)
      .map(({ failurePolicy = 'Fail', clientConfig: { caBundle = '', url = '', service } = {} }) => {
        const method = findInstallationMethod(configuration);
        return {
          configuration: configuration.metadata?.name ?? '',
          failurePolicy,
          caBundle: caBundle !== '',
          injected: method === 'service-ca' || method === 'cert-manager',
          installation: method,
          target:
            service === undefined ? url : `Service ${service.namespace}/${service.name}:${service.port ?? 443}`,
        };
      }),
  );
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

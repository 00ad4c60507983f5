import { parseSettings } from '../decision/settings.ts';
import { GUARD_PATH, objectPath, WEBHOOK_CONFIGURATIONS_PATH } from '../kube/api-paths.ts';
import type { KubeApi } from '../kube/api.ts';
import {
  ADMISSION_POLICIES,
  type StoredWebhookConfiguration,
  WEBHOOK_NAME,
} from '../install/webhook-configuration.ts';
import { readObject } from './cluster-access.ts';
import type { InstalledProtection, PolicyBinding, RegisteredWebhook } from './protection.ts';

const POLICY_BINDINGS_PATH = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings';
/** The annotations of OpenShift's service CA and of cert-manager. */
const INJECTION_ANNOTATION = /inject-(?:cabundle|ca-from)$/;

/** @throws ClusterAccessError, TimeoutError */
export async function readInstalledProtection(api: KubeApi): Promise<InstalledProtection> {
  const guard = await readObject(api, GUARD_PATH);
  return {
    webhooks: await readWebhooks(api),
    floor: await readFloor(api),
    mode: guard === undefined ? undefined : parseSettings(guard).settings.mode,
  };
}

/** Any configuration can contain the webhook. `dev` uses another name. */
async function readWebhooks(api: KubeApi): Promise<readonly RegisteredWebhook[]> {
  const list = (await readObject(api, WEBHOOK_CONFIGURATIONS_PATH, 'list')) as
    { readonly items?: readonly StoredWebhookConfiguration[] | null } | undefined;
  return (list?.items ?? []).flatMap(({ metadata, webhooks = [] }) =>
    webhooks
      .filter(({ name }) => name === WEBHOOK_NAME)
      .map(({ failurePolicy = 'Fail', clientConfig: { caBundle = '', url = '', service } = {} }) => ({
        configuration: metadata?.name ?? '',
        failurePolicy,
        caBundle: caBundle !== '',
        injected: Object.keys(metadata?.annotations ?? {}).some((key) => INJECTION_ANNOTATION.test(key)),
        target:
          service === undefined ? url : `Service ${service.namespace}/${service.name}:${service.port ?? 443}`,
      })),
  );
}

/** Empty if the cluster does not serve policies. */
async function readFloor(api: KubeApi): Promise<readonly PolicyBinding[]> {
  const bindings: PolicyBinding[] = [];
  for (const policy of Object.values(ADMISSION_POLICIES)) {
    const binding = (await readObject(api, objectPath(POLICY_BINDINGS_PATH, policy))) as
      { readonly spec?: { readonly validationActions?: readonly string[] } } | undefined;
    if (binding !== undefined) bindings.push({ policy, actions: binding.spec?.validationActions ?? [] });
  }
  return bindings;
}

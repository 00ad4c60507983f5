import type { KubeApi } from '../kube/api.ts';
import type { PolicyBinding, InstalledProtection, RegisteredWebhook } from './protection.ts';
import { ADMISSION_POLICIES, WEBHOOK_NAME } from '../install/webhook-configuration.ts';
import { parseSettings } from '../decision/settings.ts';
import { readObject } from './read-object.ts';

const REGISTRATIONS = '/apis/admissionregistration.k8s.io/v1';
/** By which OpenShift's service CA and cert-manager are asked to fill in a caBundle. */
const INJECTED = /inject-(?:cabundle|ca-from)$/;

interface Registration {
  readonly metadata?: { readonly name?: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly webhooks?: readonly {
    readonly name?: string;
    readonly failurePolicy?: string;
    readonly clientConfig?: ClientConfig;
  }[];
}

interface ClientConfig {
  readonly caBundle?: string;
  readonly url?: string;
  readonly service?: { readonly name?: string; readonly namespace?: string; readonly port?: number };
}

interface Binding {
  readonly spec?: { readonly validationActions?: readonly string[] };
}

/** What is registered in a cluster, and the mode. Throws a CliError where it cannot be read. */
export async function readInstalledProtection(api: KubeApi): Promise<InstalledProtection> {
  const guard = await readObject(api, '/apis/machineconfig-guard.io/v1alpha1/machineconfigguards/cluster', {
    verb: 'get',
    resource: 'machineconfigguards.machineconfig-guard.io',
  });
  return {
    webhooks: await readWebhooks(api),
    floor: await readFloor(api),
    mode: guard === undefined ? undefined : parseSettings(guard).settings.mode,
  };
}

/** By the webhook's own name: whoever installs it may call its configuration as he likes, and `dev` does. */
async function readWebhooks(api: KubeApi): Promise<readonly RegisteredWebhook[]> {
  const resource = 'validatingwebhookconfigurations.admissionregistration.k8s.io';
  const path = `${REGISTRATIONS}/validatingwebhookconfigurations`;
  const list = (await readObject(api, path, { verb: 'list', resource })) as
    { readonly items?: readonly Registration[] | null } | undefined;
  return (list?.items ?? []).flatMap(({ metadata, webhooks = [] }) =>
    webhooks
      .filter(({ name }) => name === WEBHOOK_NAME)
      .map(({ failurePolicy = 'Fail', clientConfig = {} }) => ({
        configuration: metadata?.name ?? '',
        failurePolicy,
        caBundle: (clientConfig.caBundle ?? '') !== '',
        injected: Object.keys(metadata?.annotations ?? {}).some((key) => INJECTED.test(key)),
        target: targetOf(clientConfig),
      })),
  );
}

/** The floor's policies that are bound. None on a cluster that is too old for them. */
async function readFloor(api: KubeApi): Promise<readonly PolicyBinding[]> {
  const resource = 'validatingadmissionpolicybindings.admissionregistration.k8s.io';
  const bound: PolicyBinding[] = [];
  for (const policy of Object.values(ADMISSION_POLICIES)) {
    const path = `${REGISTRATIONS}/validatingadmissionpolicybindings/${policy}`;
    const binding = (await readObject(api, path, { verb: 'get', resource })) as Binding | undefined;
    if (binding !== undefined) bound.push({ policy, actions: binding.spec?.validationActions ?? [] });
  }
  return bound;
}

function targetOf({ url, service }: ClientConfig): string {
  return service === undefined
    ? (url ?? '')
    : `Service ${service.namespace ?? ''}/${service.name ?? ''}:${service.port ?? 443}`;
}

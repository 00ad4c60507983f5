import type { ClusterApi } from '../cluster/api.ts';
import type { Installed } from '../install/verification.ts';
import { ADMISSION_POLICY_NAMES, WEBHOOK_NAME } from '../install/webhook-configuration.ts';
import { readSettings } from '../policy/settings.ts';
import { readObject } from './cluster-object.ts';

const REGISTRATIONS = '/apis/admissionregistration.k8s.io/v1';
/** By which OpenShift's service CA and cert-manager are asked to fill in a caBundle. */
const INJECTED = /inject-(?:cabundle|ca-from)$/;

interface Registration {
  readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> };
  readonly webhooks?: readonly {
    readonly name?: string;
    readonly failurePolicy?: string;
    readonly clientConfig?: { readonly caBundle?: string };
  }[];
}

interface Binding {
  readonly spec?: { readonly validationActions?: readonly string[] };
}

/** What is registered in a cluster, and the mode. Throws a CliError where it cannot be read. */
export async function readInstalled(api: ClusterApi): Promise<Installed> {
  const guard = await readObject(api, '/apis/machineconfig-guard.io/v1alpha1/machineconfigguards/cluster', {
    verb: 'get',
    resource: 'machineconfigguards.machineconfig-guard.io',
  });
  return {
    webhook: await readWebhook(api),
    floor: await readFloor(api),
    mode: guard === undefined ? undefined : readSettings(guard).policy.mode,
  };
}

async function readWebhook(api: ClusterApi): Promise<Installed['webhook']> {
  const path = `${REGISTRATIONS}/validatingwebhookconfigurations/machineconfig-guard`;
  const resource = 'validatingwebhookconfigurations.admissionregistration.k8s.io';
  const registration = (await readObject(api, path, { verb: 'get', resource })) as Registration | undefined;
  const webhook = registration?.webhooks?.find(({ name }) => name === WEBHOOK_NAME);
  if (webhook === undefined) return undefined;
  return {
    failurePolicy: webhook.failurePolicy ?? 'Fail',
    caBundle: (webhook.clientConfig?.caBundle ?? '') !== '',
    injected: Object.keys(registration?.metadata?.annotations ?? {}).some((key) => INJECTED.test(key)),
  };
}

/** The policies whose binding refuses. None on a cluster that is too old for them. */
async function readFloor(api: ClusterApi): Promise<readonly string[]> {
  const resource = 'validatingadmissionpolicybindings.admissionregistration.k8s.io';
  const refusing: string[] = [];
  for (const name of ADMISSION_POLICY_NAMES) {
    const path = `${REGISTRATIONS}/validatingadmissionpolicybindings/${name}`;
    const binding = (await readObject(api, path, { verb: 'get', resource })) as Binding | undefined;
    if (binding?.spec?.validationActions?.includes('Deny') === true) refusing.push(name);
  }
  return refusing;
}

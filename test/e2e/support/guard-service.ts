import { encodeBase64 } from '../../../src/install/manifest.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { KubeClient } from '../control-plane/kube-client.ts';
import { PATHS } from './objects.ts';

/** The name of the guard's Service in its certificates. */
export const SERVICE_NAME = 'machineconfig-guard.machineconfig-guard.svc';

/** PEM of the authority by which the API server checks the guard's certificates. */
export async function readAuthority(admin: KubeClient): Promise<string> {
  const configuration = await admin.find(PATHS.guardWebhook);
  return Buffer.from(configuration?.webhooks?.[0]?.clientConfig.caBundle ?? '', 'base64').toString();
}

/** Sets the authority of the webhook. */
export async function setAuthority(admin: KubeClient, pem: string): Promise<void> {
  const path = '/webhooks/0/clientConfig/caBundle';
  await admin.patch(PATHS.guardWebhook, [{ op: 'add', path, value: encodeBase64(pem) }]);
}

/**
 * Makes the API server open new connections to the guard, by another caBundle. The service CA restores the usual one.
 *
 * @param label makes the caBundle differ
 */
export async function forceReconnect({ apiServer }: ControlPlane, { ca }: { readonly ca: string }, label: string) {
  await setAuthority(apiServer.admin, `# ${label}\n${ca}`);
}

import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { KubeClient, KubeObject } from '../control-plane/kube-client.ts';
import { PATHS } from './paths.ts';

type WebhookConfiguration = KubeObject & {
  readonly webhooks: readonly { readonly clientConfig: { readonly caBundle?: string } }[];
};

/** The name of the guard's Service in its certificates. */
export const SERVICE_NAME = 'machineconfig-guard.machineconfig-guard.svc';

/** PEM of the authority by which the API server checks the guard's certificates. */
export async function readAuthority(admin: KubeClient): Promise<string> {
  const { webhooks } = (await admin.find(PATHS.guardWebhook)) as WebhookConfiguration;
  return Buffer.from(webhooks[0]?.clientConfig.caBundle ?? '', 'base64').toString();
}

/** Sets the authority of the webhook. */
export async function setAuthority(admin: KubeClient, pem: string): Promise<void> {
  const caBundle = Buffer.from(pem).toString('base64');
  const { webhooks } = (await admin.find(PATHS.guardWebhook)) as WebhookConfiguration;
  const changed = webhooks.map((webhook) => ({ ...webhook, clientConfig: { ...webhook.clientConfig, caBundle } }));
  await admin.patch(PATHS.guardWebhook, { webhooks: changed });
}

/**
 * Makes the API server open new connections to the guard, by another caBundle. The service CA restores the usual one.
 *
 * @param label makes the caBundle differ
 */
export async function forceReconnect({ apiServer }: ControlPlane, { ca }: { readonly ca: string }, label: string) {
  await setAuthority(apiServer.admin, `# ${label}\n${ca}`);
}

import type { KubeClient, KubeObject } from '../control-plane/kube-client.ts';
import { PATHS } from './paths.ts';

export type WebhookConfiguration = KubeObject & {
  readonly webhooks: readonly { readonly clientConfig: { readonly caBundle?: string } }[];
};

/** The name of the guard's Service in its certificates. */
export const SERVICE_NAME = 'machineconfig-guard.machineconfig-guard.svc';

/** PEM of the authority by which the API server checks the guard's certificates. */
export async function readAuthority(admin: KubeClient): Promise<string> {
  const { webhooks } = (await admin.find(PATHS.guardWebhook)) as WebhookConfiguration;
  return Buffer.from(webhooks[0]?.clientConfig.caBundle ?? '', 'base64').toString();
}

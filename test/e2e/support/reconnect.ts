import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { GuardProcess } from './guard-process.ts';
import type { WebhookConfiguration } from './guard-service.ts';
import { PATHS } from './paths.ts';

/**
 * Makes the API server open new connections to the guard, by another caBundle. The service CA restores the usual one.
 *
 * @param label makes the caBundle differ
 */
export async function forceReconnect(
  { apiServer: { admin } }: ControlPlane,
  { ca }: Pick<GuardProcess, 'ca'>,
  label: string,
): Promise<void> {
  const caBundle = Buffer.from(`# ${label}\n${ca}`).toString('base64');
  const { webhooks } = (await admin.find(PATHS.guardWebhook)) as WebhookConfiguration;
  const changed = webhooks.map((webhook) => ({ ...webhook, clientConfig: { ...webhook.clientConfig, caBundle } }));
  await admin.patch(PATHS.guardWebhook, { webhooks: changed });
}

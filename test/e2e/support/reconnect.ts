import { buildWebhookConfiguration } from '../../../src/install/webhook-configuration.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { GuardProcess } from './guard-process.ts';
import { PATHS } from './paths.ts';

/**
 * Makes the API server open new connections to the guard, by another caBundle.
 *
 * @param label makes the caBundle differ
 */
export async function forceReconnect(
  { apiServer }: ControlPlane,
  { url, ca }: Pick<GuardProcess, 'url' | 'ca'>,
  label: string,
): Promise<void> {
  const caBundle = Buffer.from(`# ${label}\n${ca}`).toString('base64');
  const { webhooks } = buildWebhookConfiguration({
    clientConfig: { url, caBundle },
    failurePolicy: 'Fail',
  });
  await apiServer.admin.patch(PATHS.guardWebhook, { webhooks });
}

import { ApiError } from '../../kube/errors.ts';
import { type KubeApi } from '../../kube/api.ts';
import type { WebhookConfiguration } from '../../install/webhook-configuration.ts';

const COLLECTION = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
const CALL_MS = 5_000;

/** Registers a webhook under its name. Throws ApiError or ApiUnreachable. */
export async function registerWebhook(api: KubeApi, configuration: WebhookConfiguration): Promise<void> {
  await api.json({ method: 'POST', path: COLLECTION, body: configuration, signal: AbortSignal.timeout(CALL_MS) });
}

/**
 * Removes a registration.
 *
 * @returns whether there was one
 * @throws ApiError or ApiUnreachable
 */
export async function unregisterWebhook(api: KubeApi, name: string): Promise<boolean> {
  try {
    await api.json({ method: 'DELETE', path: `${COLLECTION}/${name}`, signal: AbortSignal.timeout(CALL_MS) });
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return false;
    throw error;
  }
}

import { buildWebhookConfiguration } from '../../src/install/webhook-configuration.ts';
import { expectStatus, type KubeClient, type KubeResponse } from '../e2e/control-plane/kube-client.ts';
import { until } from '../e2e/control-plane/until.ts';
import { machineConfig, renderedName } from '../e2e/support/objects.ts';
import { PATHS } from '../e2e/support/paths.ts';

/** How the API server reaches a webhook. */
export interface WebhookAddress {
  readonly url: string;
  /** PEM of the authority of its certificate. */
  readonly ca: string;
}

/** All of them are registered at the same time, each for the configs with its own label, so that they can be measured in turn. */
const LABEL = 'bench.machineconfig-guard.io/contestant';
/** The API server's counter of calls of webhooks. */
const ASKED = 'apiserver_admission_webhook_request_total';
const EFFECTIVE_TIMEOUT_MS = 20_000;

/** The labels of the configs about which this one is asked. */
export function labelsOf(contestant: string): Readonly<Record<string, string>> {
  return { [LABEL]: idOf(contestant) };
}

/** The guard, which is registered already, is asked about the configs with these labels and no others. */
export async function narrowGuard(admin: KubeClient, labels: Readonly<Record<string, string>>): Promise<void> {
  const path = `${PATHS.webhookConfigurations}/machineconfig-guard`;
  const patch = [{ op: 'add', path: '/webhooks/0/objectSelector', value: { matchLabels: labels } }];
  const extras = { contentType: 'application/json-patch+json' };
  expectStatus(await admin.request('PATCH', path, patch, extras), [200], `PATCH ${path}`);
}

/** Registers a webhook for the configs with its label, as the guard is registered. Returns once it is asked. */
export async function register(admin: KubeClient, contestant: string, { url, ca }: WebhookAddress): Promise<void> {
  const id = idOf(contestant);
  const webhook = `${id}.bench.machineconfig-guard.io`;
  const clientConfig = { url, caBundle: Buffer.from(ca).toString('base64') };
  const guards = buildWebhookConfiguration({ name: id, clientConfig, failurePolicy: 'Fail' });
  await admin.create(PATHS.webhookConfigurations, {
    ...guards,
    webhooks: guards.webhooks.map((one) => ({
      ...one,
      name: webhook,
      objectSelector: { matchLabels: labelsOf(contestant) },
    })),
  });
  const probe = renderedName('probe');
  await admin.create(PATHS.configs, machineConfig({ name: probe, labels: labelsOf(contestant) }));
  await until(
    `the API server to ask ${contestant}`,
    async () => {
      await admin.delete(`${PATHS.configs}/${probe}`, { dryRun: 'All' });
      const metrics = String((await admin.request('GET', '/metrics')).body);
      // Not those that it could not answer yet.
      return ['200', '403'].some((code) => metrics.includes(`${ASKED}{code="${code}",name="${webhook}"`));
    },
    { timeoutMs: EFFECTIVE_TIMEOUT_MS, everyMs: 250 },
  );
}

/**
 * Whether a deletion was answered as it has to be: false where the webhook did not answer in time and the API server refused instead, or where
 * the guard said so itself. Throws where the answer is wrong.
 */
export function isAnswered({ status, body }: KubeResponse, wanted: 200 | 403, contestant: string): boolean {
  if (status === wanted) return true;
  if (status >= 500) return false;
  throw new Error(`${contestant} answered ${status}, not ${wanted}: ${JSON.stringify(body).slice(0, 500)}`);
}

/** As a part of names in the API. */
function idOf(contestant: string): string {
  return contestant
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
}

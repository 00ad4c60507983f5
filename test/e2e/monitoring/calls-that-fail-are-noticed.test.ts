import { stringify } from 'yaml';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { buildWebhookConfiguration } from '../../../src/install/webhook-configuration.ts';
import { ControlPlane } from '../control-plane/control-plane.ts';
import { freePorts } from '../control-plane/free-ports.ts';
import { until } from '../control-plane/until.ts';
import { machineConfig, renderedName } from '../support/objects.ts';
import { PATHS } from '../support/paths.ts';
import { Prometheus, prometheusTools } from '../support/prometheus.ts';
import { runBinaries } from '../support/run-binaries.ts';
import { alertingRules, RULE_FILES } from './alerting-rules.ts';

const CONFIGURATION = `${PATHS.webhookConfigurations}/machineconfig-guard`;
/** A changed registration takes the API server a moment to notice, a scrape and an evaluation half a second each. */
const NOTICED = { timeout: 20_000 };

let controlPlane: ControlPlane;
let prometheus: Prometheus;

interface Alerts {
  readonly alerts: readonly { readonly labels: { readonly alertname: string }; readonly state: string }[];
}

async function firing(): Promise<readonly string[]> {
  const { alerts } = (await prometheus.read('alerts')) as Alerts;
  return alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname);
}

async function config(): Promise<string> {
  const name = renderedName();
  await controlPlane.apiServer.admin.create(PATHS.configs, machineConfig({ name }));
  return `${PATHS.configs}/${name}`;
}

beforeAll(async () => {
  const tools = await prometheusTools();
  controlPlane = await ControlPlane.start(await runBinaries());
  const { connection, admin, url } = controlPlane.apiServer;
  const scrape = {
    job_name: 'apiserver',
    scheme: 'https',
    tls_config: { ca_file: 'ca.crt', cert_file: 'admin.crt', key_file: 'admin.key' },
    static_configs: [{ targets: [new URL(url).host] }],
  };
  const configuration = {
    global: { scrape_interval: '500ms', evaluation_interval: '500ms' },
    rule_files: ['rules.yaml'],
    scrape_configs: [scrape],
  };
  const rules = await alertingRules(RULE_FILES[1]);
  prometheus = await Prometheus.start(tools, configuration, {
    'rules.yaml': stringify({ groups: [{ name: 'machineconfig-guard', rules }] }),
    'ca.crt': connection.ca,
    'admin.crt': connection.certificate ?? '',
    'admin.key': connection.key ?? '',
  });
  await until('a scrape', async () => (await prometheus.query('up == 1')).length === 1, { timeoutMs: 20_000 });
  // Nobody listens there.
  const [port] = await freePorts(1);
  const caBundle = Buffer.from(controlPlane.caCertificate).toString('base64');
  const clientConfig = { url: `https://127.0.0.1:${port}/validate`, caBundle };
  await admin.create(PATHS.webhookConfigurations, buildWebhookConfiguration({ clientConfig, failurePolicy: 'Fail' }));
}, 120_000);

afterAll(async () => {
  await prometheus.stop();
  await controlPlane.stop();
});

test('as long as nothing is deleted, no alert fires', async () => {
  expect(await firing()).toEqual([]);
});

test('installed fail-closed: the first deletion that cannot be asked about is an alert', async () => {
  const { admin } = controlPlane.apiServer;
  await expect.poll(async () => (await admin.delete(await config(), { dryRun: 'All' })).status, NOTICED).toBe(500);

  await expect.poll(firing, NOTICED).toEqual(['MachineConfigGuardUnreachable']);
});

test('installed fail-open: the first deletion that passes is an alert', async () => {
  const { admin } = controlPlane.apiServer;
  const open = buildWebhookConfiguration({ clientConfig: { url: '', caBundle: '' }, failurePolicy: 'Ignore' });
  const registered = (await admin.find(CONFIGURATION)) as unknown as { webhooks: readonly { clientConfig: object }[] };
  const webhooks = open.webhooks.map((webhook) => ({ ...webhook, clientConfig: registered.webhooks[0]?.clientConfig }));
  await admin.patch(CONFIGURATION, { webhooks });
  await expect.poll(async () => (await admin.delete(await config(), { dryRun: 'All' })).status, NOTICED).toBe(200);

  await expect.poll(firing, NOTICED).toContain('MachineConfigGuardFailedOpen');
});

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, expect, test } from 'vitest';
import { stringify } from 'yaml';

import { until } from '../control-plane/until.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { Prometheus, prometheusTools } from '../support/prometheus.ts';
import { runBinaries } from '../support/run-binaries.ts';
import { alertingRules, RULE_FILES } from './alerting-rules.ts';

interface Panel {
  readonly title: string;
  readonly targets: readonly { readonly expr: string }[];
  readonly valueMaps?: readonly { readonly value: string; readonly text: string }[];
}

interface Dashboard {
  readonly rows: readonly { readonly panels: readonly Panel[] }[];
}

const DASHBOARD = fileURLToPath(
  new URL('../../../manifests/overlays/dashboard/machineconfig-guard.json', import.meta.url),
);
const dashboard = JSON.parse(await readFile(DASHBOARD, 'utf8')) as Dashboard;
const PANELS = dashboard.rows.flatMap(({ panels }) => panels);
const QUERIES = PANELS.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const));
const TOKENS = '/api/v1/namespaces/machineconfig-guard/serviceaccounts/machineconfig-guard-metrics/token';
const CA = '/api/v1/namespaces/machineconfig-guard/configmaps/machineconfig-guard-service-ca';
const SCRAPE_MS = 500;

let installed: InstalledCluster;
let prometheus: Prometheus | undefined;

/** As overlays/monitoring tells the operator of Prometheus: its service account's token, the service CA, the Service's name. */
async function configuration() {
  const { admin } = installed.controlPlane.apiServer;
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
  const { status } = await admin.create(TOKENS, request);
  const job = {
    scheme: 'https',
    tls_config: { ca_file: 'service-ca.crt', server_name: 'machineconfig-guard.machineconfig-guard.svc' },
    static_configs: installed.kubelet.pods.map(({ name, ports }) => ({
      targets: [`127.0.0.1:${ports?.metricsPort}`],
      labels: { pod: name },
    })),
  };
  const { token } = status as { token: string };
  return {
    global: { scrape_interval: `${SCRAPE_MS}ms`, evaluation_interval: `${SCRAPE_MS}ms` },
    rule_files: ['rules.yaml'],
    scrape_configs: [
      { ...job, job_name: 'machineconfig-guard', authorization: { credentials: token } },
      { ...job, job_name: 'without-credentials' },
    ],
  };
}

beforeAll(async () => {
  const tools = await prometheusTools();
  installed = await InstalledCluster.start(await runBinaries(), { prometheusOperator: true });
  await installed.applyOverlay('monitoring');
  await installed.awaitGuard();
  const rules = await alertingRules(RULE_FILES[0]);
  const ca = (await installed.controlPlane.apiServer.admin.find(CA)) as { data?: Readonly<Record<string, string>> };
  const files = {
    'rules.yaml': stringify({ groups: [{ name: 'machineconfig-guard', rules }] }),
    'service-ca.crt': ca.data?.['service-ca.crt'] ?? '',
  };
  prometheus = await Prometheus.start(tools, await configuration(), files);
  await until('the scrapes', async () => (await up('machineconfig-guard')).join() === '1,1', { timeoutMs: 20_000 });
  // From here on there is something to compare with: rates need an increase between two scrapes.
  const [used, free] = [await installed.cluster.config(), await installed.cluster.config()];
  await installed.cluster.node({ currentConfig: used, desiredConfig: used });
  const deadline = Date.now() + 6 * SCRAPE_MS;
  while (Date.now() < deadline) {
    await installed.dryRun(used);
    await installed.dryRun(free);
  }
}, 120_000);

afterAll(async () => {
  await prometheus?.stop();
  await installed.stop();
});

test('with the service account of the overlay all replicas are scraped; without credentials none', async () => {
  await expect.poll(() => up('machineconfig-guard'), { timeout: 20_000 }).toEqual(['1', '1']);
  await expect.poll(() => up('without-credentials'), { timeout: 20_000 }).toEqual(['0', '0']);
});

async function query(expression: string) {
  return (await prometheus?.query(expression)) ?? [];
}

async function up(job: string): Promise<readonly string[]> {
  const samples = await query(`up{job="${job}"}`);
  return samples.map(({ value }) => value[1]);
}

test.each(QUERIES)('dashboard: %s: %s', async (_title, expression) => {
  await expect
    .poll(async () => (await query(expression)).filter(({ value }) => value[1] !== 'NaN').length, {
      timeout: 20_000,
    })
    .toBeGreaterThan(0);
});

test('dashboard: the mode is shown by its name', async () => {
  const panel = PANELS.find(({ title }) => title === 'Mode');
  const [sample] = await query(panel?.targets[0]?.expr ?? '');
  expect(panel?.valueMaps?.find(({ value }) => value === sample?.value[1])?.text).toBe('Enforce');
});

interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly name: string; readonly health: string }[] }[];
}

async function health(): Promise<readonly string[]> {
  const rules = (await prometheus?.read('rules')) as Rules | undefined;
  return (rules?.groups ?? []).flatMap((group) => group.rules.map((rule) => `${rule.name} ${rule.health}`));
}

test('Prometheus takes all alerts, and evaluates each without an error', async () => {
  const expected = (await alertingRules(RULE_FILES[0])).map(({ alert }) => `${alert} ok`);
  await expect.poll(health, { timeout: 20_000 }).toEqual(expected);
});

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, expect, test } from 'vitest';
import { stringify } from 'yaml';

import { until } from '../control-plane/until.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { Prometheus, prometheusTools } from '../support/prometheus.ts';
import { runBinaries } from '../support/run-binaries.ts';
import { alertingRules, RULE_FILES } from './alerting-rules.ts';
import { scrapingOf } from './service-monitor.ts';

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
const SCRAPE_MS = 500;

let installed: InstalledCluster;
let prometheus: Prometheus | undefined;

beforeAll(async () => {
  const tools = await prometheusTools();
  installed = await InstalledCluster.start(await runBinaries(), { prometheusOperator: true });
  await installed.applyOverlay('monitoring');
  await installed.awaitGuard();
  const rules = await alertingRules(RULE_FILES[0]);
  const { job, files } = await scrapingOf(installed);
  const configuration = {
    global: { scrape_interval: `${SCRAPE_MS}ms`, evaluation_interval: `${SCRAPE_MS}ms` },
    rule_files: ['rules.yaml'],
    scrape_configs: [
      { ...job, job_name: 'machineconfig-guard' },
      { ...job, job_name: 'without-credentials', authorization: undefined },
    ],
  };
  prometheus = await Prometheus.start(tools, configuration, {
    ...files,
    'rules.yaml': stringify({ groups: [{ name: 'machineconfig-guard', rules }] }),
  });
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

test('as the ServiceMonitor says all replicas are scraped; without credentials none', async () => {
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

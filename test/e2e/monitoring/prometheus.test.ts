import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';
import { stringify } from 'yaml';

import { until } from '../control-plane/until.ts';
import { sharedInstalledNodeCluster } from '../node/shared-node-cluster.ts';
import { MANIFESTS } from '../support/overlays.ts';
import { PATHS } from '../support/paths.ts';
import { startPrometheus } from '../support/prometheus.ts';
import { alertingRules, RULE_FILES } from './alerting-rules.ts';

interface Reference {
  readonly name: string;
  readonly key: string;
}

interface MonitorSpec {
  readonly endpoints: readonly [
    {
      readonly port: string;
      readonly path: string;
      readonly scheme: string;
      readonly authorization: { readonly credentials: Reference };
      readonly tlsConfig: { readonly serverName: string; readonly ca: { readonly configMap: Reference } };
    },
  ];
}

interface EndpointSlice {
  readonly endpoints: readonly { readonly addresses: readonly string[] }[];
  readonly ports: readonly { readonly name: string; readonly port: number }[];
}

interface Dashboard {
  readonly rows: readonly {
    readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[];
  }[];
}

interface Rule {
  readonly name: string;
  readonly health: string;
  readonly state: string;
}

const SLICES = '/apis/discovery.k8s.io/v1/namespaces/machineconfig-guard/endpointslices';
const CA_FILE = 'ca.crt';
const INTERVAL = '500ms';
const dashboardFile = join(MANIFESTS, 'overlays/dashboard/machineconfig-guard.json');
const dashboard = JSON.parse(await readFile(dashboardFile, 'utf8')) as Dashboard;

const installed = await sharedInstalledNodeCluster();
const { cluster, controlPlane } = installed;
const rules = (await Promise.all(RULE_FILES.map((file) => alertingRules(file)))).flat();
let prometheus: Awaited<ReturnType<typeof startPrometheus>>;

beforeAll(async () => {
  const { job, files } = await buildScrapeJob();
  const { url, ca, token } = controlPlane.apiServer.admin.connection;
  const apiServer = {
    job_name: 'apiserver',
    scheme: 'https',
    authorization: { credentials: token },
    tls_config: { ca_file: 'api-ca.crt' },
    static_configs: [{ targets: [new URL(url).host] }],
  };
  const configuration = {
    global: { scrape_interval: INTERVAL, evaluation_interval: INTERVAL },
    rule_files: ['rules.yaml'],
    scrape_configs: [
      { ...job, job_name: 'machineconfig-guard' },
      { ...job, job_name: 'without-credentials', authorization: undefined },
      apiServer,
    ],
  };
  const immediate = rules.map((rule) => ({ ...rule, for: undefined }));
  const groups = [{ name: 'all', rules: immediate }];
  prometheus = await startPrometheus(configuration, {
    ...files,
    'api-ca.crt': ca,
    'rules.yaml': stringify({ groups }),
  });
});

afterAll(() => prometheus.stop());

/** Builds the scrape job of the guard's ServiceMonitor, as Prometheus Operator does, and its files. */
async function buildScrapeJob() {
  const { spec } = (await cluster.admin.find(PATHS.monitor)) as unknown as { readonly spec: MonitorSpec };
  const [{ port, path, scheme, authorization, tlsConfig }] = spec.endpoints;
  const readKey = ({ name, key }: Reference, kind: string) => {
    const find = async () => (await cluster.admin.find(`${PATHS.guardNamespace}/${kind}/${name}`))?.data?.[key];
    return until(`the key ${key} of ${name}`, find);
  };
  const credentials = Buffer.from(await readKey(authorization.credentials, 'secrets'), 'base64');
  const job = {
    metrics_path: path,
    scheme,
    authorization: { credentials: credentials.toString() },
    tls_config: { ca_file: CA_FILE, server_name: tlsConfig.serverName },
    static_configs: [{ targets: await listTargets(port) }],
  };
  return { job, files: { [CA_FILE]: await readKey(tlsConfig.ca.configMap, 'configmaps') } };
}

/** The addresses behind a port of the Service. Debian's Prometheus cannot discover them. */
async function listTargets(name: string): Promise<readonly string[]> {
  const slices = (await cluster.admin.list(SLICES)) as readonly unknown[] as readonly EndpointSlice[];
  return slices.flatMap(({ endpoints, ports }) => {
    const port = ports.find((candidate) => candidate.name === name)?.port;
    return endpoints.flatMap(({ addresses }) => addresses.map((address) => `${address}:${port}`));
  });
}

async function readUp(jobName: string): Promise<readonly string[]> {
  return (await prometheus.query(`up{job="${jobName}"}`)).map(({ value }) => value[1]);
}

async function readRules() {
  const { groups } = (await prometheus.read('rules')) as { groups: readonly { rules: readonly Rule[] }[] };
  return groups.flatMap((group) => group.rules);
}

async function readFiring(): Promise<readonly string[]> {
  return (await readRules()).filter(({ state }) => state === 'firing').map(({ name }) => name);
}

test('Prometheus scrapes all replicas with the credentials, and none without', async () => {
  await expect.poll(() => readUp('machineconfig-guard')).toEqual(['1', '1']);
  await expect.poll(() => readUp('without-credentials')).toEqual(['0', '0']);
});

test('Prometheus evaluates every alert, and none of unreachable guards fires', async () => {
  const readHealth = async () => (await readRules()).map(({ health }) => health);
  await expect.poll(readHealth).toEqual(rules.map(() => 'ok'));
  const firing = await readFiring();
  expect(firing).not.toContain('MachineConfigGuardUnreachable');
  expect(firing).not.toContain('MachineConfigGuardFailedOpen');
});

test('every query of the dashboard has data', async () => {
  const used = await cluster.config();
  const unused = await cluster.config();
  await cluster.node({ currentConfig: used, desiredConfig: used });
  const panels = dashboard.rows.flatMap((row) => row.panels);
  for (const { expr } of panels.flatMap(({ targets }) => targets)) {
    // Rates need an increase between two scrapes.
    const hasData = async () => {
      await Promise.all([cluster.dryRun(used), cluster.dryRun(unused)]);
      return (await prometheus.query(expr)).some(({ value }) => value[1] !== 'NaN');
    };
    await expect.poll(hasData, { message: expr }).toBe(true);
  }
});

test('an alert fires on the first deletion without an answer', async () => {
  const dryRunStatus = async () => (await cluster.dryRun(await cluster.config())).status;
  const setFailurePolicy = (value: 'Fail' | 'Ignore') =>
    cluster.admin.patch(PATHS.guardWebhook, [{ op: 'replace', path: '/webhooks/0/failurePolicy', value }]);
  await cluster.admin.patch(PATHS.deployment, { spec: { replicas: 0 } });
  await expect.poll(dryRunStatus).toBe(500);
  await expect.poll(readFiring).toContain('MachineConfigGuardUnreachable');

  await setFailurePolicy('Ignore');
  await expect.poll(dryRunStatus).toBe(200);
  await expect.poll(readFiring).toContain('MachineConfigGuardFailedOpen');

  await setFailurePolicy('Fail');
  await cluster.admin.patch(PATHS.deployment, { spec: { replicas: 2 } });
  await installed.awaitGuard();
});

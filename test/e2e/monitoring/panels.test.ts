import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { listPanels } from '../../docs/pages.ts';
import { freePorts } from '../control-plane/free-ports.ts';
import { isHealthy } from '../control-plane/until.ts';
import { readAuthority, SERVICE_NAME } from '../support/guard-processes.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { kubectlOk } from '../support/kubectl.ts';
import { PATHS } from '../support/objects.ts';
import { debianProgram, runProgramOk } from '../support/programs.ts';
import { createServiceAccount } from '../support/service-account.ts';
import { ALERTS } from './alerting-rules.ts';

const IMAGE = `registry.example.com/machineconfig-guard@sha256:${'a'.repeat(64)}`;
/** Prometheus gives it the name of the Service. */
const JOB = 'machineconfig-guard';
const GUARD_USER = 'system:serviceaccount:machineconfig-guard:machineconfig-guard';

interface QueryAnswer {
  readonly status: string;
  readonly data: { readonly result: readonly { readonly value: readonly [number, string] }[] };
}

const installed = await InstalledCluster.start();
const { cluster, controlPlane, replicas } = installed;
const { admin } = cluster;
await kubectlOk(
  controlPlane,
  ['apply', '--filename=-'],
  await runProgramOk('render', '--out', '-', '--image', IMAGE, '--openshift-version', '4.18'),
);
await installed.awaitGuard();
const directory = await mkdtemp(join(tmpdir(), 'mcg-prometheus-'));
const [port = 0] = await freePorts(1);
const url = `http://127.0.0.1:${port}`;
const { file, env } = await debianProgram('prometheus', ['prometheus']);
await writeConfiguration();
const args = [
  `--config.file=${join(directory, 'prometheus.yml')}`,
  `--storage.tsdb.path=${join(directory, 'data')}`,
  `--web.listen-address=127.0.0.1:${port}`,
];
const prometheus = controlPlane.startChild('prometheus', file, args, { env });
await prometheus.waitUntil(() => isHealthy(`${url}/-/ready`));

afterAll(async () => {
  await installed.stop();
  await rm(directory, { recursive: true });
});

/** As the ServiceMonitor, but faster. */
async function writeConfiguration(): Promise<void> {
  const token = await createServiceAccount(admin, 'scraper', [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }]);
  await writeFile(join(directory, 'ca.crt'), await readAuthority(admin));
  const configuration = {
    global: { scrape_interval: '1s' },
    scrape_configs: [
      {
        job_name: JOB,
        scheme: 'https',
        authorization: { credentials: token },
        tls_config: { ca_file: join(directory, 'ca.crt'), server_name: SERVICE_NAME },
        static_configs: [{ targets: replicas.running.map(({ metricsUrl }) => new URL(metricsUrl).host) }],
      },
    ],
  };
  // JSON is YAML.
  await writeFile(join(directory, 'prometheus.yml'), JSON.stringify(configuration));
}

async function query(expression: string): Promise<QueryAnswer> {
  const response = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(expression)}`);
  return (await response.json()) as QueryAnswer;
}

/** The values of an expression. */
async function evaluate(expression: string): Promise<readonly number[]> {
  const { status, data } = await query(expression);
  expect(status).toBe('success');
  return data.result.map(({ value }) => Number(value[1]));
}

const TARGETS = listPanels().flatMap(({ title, targets }) => targets.map(({ expr }) => ({ title, expr })));
const METRICS = new Set(ALERTS.flatMap(({ expr }) => expr.match(/\bmcguard_\w+/g) ?? []));

test('Prometheus scrapes every replica', async () => {
  const scrape = () => evaluate(`up{job="${JOB}"}`).catch(() => []);
  await expect.poll(scrape).toEqual(replicas.running.map(() => 1));
});

test.each(TARGETS)('the panel $title has data: $expr', async ({ expr }) => {
  const used = await cluster.config();
  await cluster.node({ currentConfig: used });
  // A rate needs two scrapes with a decision between them.
  const decideAndEvaluate = async () => {
    await cluster.dryRun(used);
    // A quantile of a path that no decision takes is no number.
    return (await evaluate(expr)).some((value) => Number.isFinite(value));
  };
  await expect.poll(decideAndEvaluate).toBe(true);
});

test.each([...METRICS])('the guard has the metric %s of an alert', async (metric) => {
  await expect.poll(() => evaluate(`count(${metric})`)).toEqual([expect.any(Number)]);
});

// test/guard/rights.test.ts and test/install compare its roles with its requests.
test('the API server refuses no request of the guard', async () => {
  const requests = await cluster.auditEvents(({ user }) => user.username === GUARD_USER, GUARD_USER);
  const codes = new Set(requests.map(({ responseStatus }) => responseStatus?.code));
  expect(codes).toContain(200);
  expect(codes).not.toContain(401);
  expect(codes).not.toContain(403);
});

test('the API server counts what the alerts of an unreachable guard select', async () => {
  const dryRunStatus = async () => (await cluster.dryRun(await cluster.config())).status;
  await replicas.stop();
  await expect.poll(dryRunStatus).toBe(500);
  await admin.patch(PATHS.guardWebhook, [{ op: 'replace', path: '/webhooks/0/failurePolicy', value: 'Ignore' }]);
  await expect.poll(dryRunStatus).toBe(200);

  const { body } = await admin.request('GET', '/metrics');
  const [open, unreachable] = ALERTS.flatMap(({ expr }) => /apiserver_\w+/.exec(expr)?.[0] ?? []);
  expect(body).toMatch(new RegExp(`^${open}\\{.*name="guard.machineconfig-guard.io".*\\} [1-9]`, 'm'));
  const labels = 'error_type="calling_webhook_error",name="guard.machineconfig-guard.io"';
  expect(body).toMatch(new RegExp(`^${unreachable}\\{${labels}.*\\} [1-9]`, 'm'));
});

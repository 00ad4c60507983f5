import { EventEmitter, once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { buildWebhookConfiguration, WEBHOOK_NAME } from '../../../src/install/webhook-configuration.ts';
import { startTestCluster, type TestCluster } from '../../support/test-cluster.ts';
import { usageError, runProgram } from '../run-program.ts';
import { createTemporaryDirectory } from '../temporary-directory.ts';

interface Kubeconfig {
  readonly clusters: { name: string; cluster: object }[];
  readonly contexts: { name: string; context: { cluster: string; user: string; namespace?: string } }[];
  readonly users: { name: string; user: object }[];
  readonly 'current-context': string;
}

interface Report {
  readonly clusters: readonly {
    readonly context: string;
    readonly state: string;
    readonly explanation: string;
  }[];
}

const NAMESPACE = 'machineconfig-guard';
const clientConfig = { url: 'https://127.0.0.1:1/validate', caBundle: 'x' };
let clusters: readonly TestCluster[];
let file: string;

beforeEach(async () => {
  clusters = await Promise.all([startTestCluster(), startTestCluster(), startTestCluster()]);
  file = path.join(createTemporaryDirectory(), 'kubeconfig');
  writeKubeconfig(['a', 'b', 'c']);
});

/** One context for each cluster. The first one is the current context. */
function writeKubeconfig(
  names: readonly string[],
  extraContexts: Kubeconfig['contexts'] = [],
  current = names[0] ?? '',
): void {
  const parts = clusters.slice(0, names.length).map(({ kubeconfig }) => parse(kubeconfig) as Kubeconfig);
  const config: Kubeconfig = {
    clusters: parts.map(({ clusters: [part] }, index) => ({
      name: names[index] ?? '',
      cluster: part?.cluster ?? {},
    })),
    users: parts.map(({ users: [part] }, index) => ({ name: names[index] ?? '', user: part?.user ?? {} })),
    contexts: [...names.map((name) => ({ name, context: { cluster: name, user: name } })), ...extraContexts],
    'current-context': current,
  };
  writeFileSync(file, stringify({ apiVersion: 'v1', kind: 'Config', ...config }), { mode: 0o600 });
}

function install(cluster: TestCluster | undefined, mode = 'Enforce'): void {
  const configuration = buildWebhookConfiguration({ clientConfig, failurePolicy: 'Fail' });
  cluster?.create('validatingwebhookconfigurations', configuration);
  cluster?.create('machineconfigguards', { metadata: { name: 'cluster' }, spec: { mode } });
  const metadata = { name: NAMESPACE, namespace: NAMESPACE };
  cluster?.create('deployments', { metadata, spec: { replicas: 2 }, status: { readyReplicas: 2 } });
}

async function runStatus(...args: string[]) {
  return await runProgram(['status', '--kubeconfig', file, ...args]);
}

async function readStates(...args: string[]) {
  const { exitCode, stdout } = await runStatus('-o', 'json', ...args);
  const { clusters: entries } = JSON.parse(stdout) as Report;
  return { exitCode, states: entries.map(({ context, state }) => `${context} ${state}`), entries };
}

test('exits with 0 if every cluster is protected, and 1 otherwise', async () => {
  install(clusters[0]);
  expect(await readStates()).toMatchObject({ exitCode: 0, states: ['a PROTECTED'] });
  const all = ['a PROTECTED', 'b EXPOSED', 'c EXPOSED'];
  expect(await readStates('--contexts', 'all')).toMatchObject({ exitCode: 1, states: all });
  install(clusters[1], 'Warn');
  const some = await readStates('--contexts', 'b,a');
  expect(some).toMatchObject({ exitCode: 1, states: ['b EXPOSED', 'a PROTECTED'] });
  expect(await readStates('--context', 'b')).toMatchObject({ exitCode: 1, states: ['b EXPOSED'] });
});

test('exits with 1 if only the floor protects although the guard is installed', async () => {
  const service = { namespace: NAMESPACE, name: NAMESPACE };
  const webhook = {
    name: WEBHOOK_NAME,
    failurePolicy: 'Ignore',
    clientConfig: { service, caBundle: 'x' },
  };
  let webhooks: readonly object[] = [];
  clusters[0]?.faults.intercept(({ path: requested }) => {
    if (requested.endsWith('/validatingwebhookconfigurations'))
      return { status: 200, body: { items: [{ metadata: { name: NAMESPACE }, webhooks }] } };
    const binding = { spec: { validationActions: ['Deny'] } };
    return requested.includes('/validatingadmissionpolicybindings/') ? { status: 200, body: binding } : 'pass';
  });
  expect(await readStates()).toMatchObject({ exitCode: 0, states: ['a PROTECTED'] });
  webhooks = [webhook];
  expect(await readStates()).toMatchObject({ exitCode: 1, states: ['a PROTECTED'] });
  expect((await runStatus()).stdout).toMatch(/^a +PROTECTED \(floor\) /m);
});

test.each(['text', 'json', 'yaml'])('prints no control character of a cluster with -o %s', async (output) => {
  install(clusters[0]);
  const hostile = '\u001B]52;c;eA==\u0007\u009B\u202E\n';
  clusters[0]?.patch('machineconfigguards', 'cluster', {
    status: {
      version: hostile,
      lastDenial: { time: hostile, name: hostile, user: hostile },
      conditions: [{ type: 'CertificatesValid', status: 'False', reason: hostile, message: hostile }],
    },
  });
  const { stdout } = await runStatus('-o', output);
  expect(stdout).toContain('52;c;eA==');
  expect(stdout.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
});

test('asks one context for each cluster and user with all, and prefers the current one', async () => {
  const project = { name: 'project', context: { cluster: 'a', user: 'a', namespace: 'project' } };
  const other = { name: 'other', context: { cluster: 'b', user: 'a' } };
  writeKubeconfig(['a', 'b'], [project, other]);
  const { states } = await readStates('--contexts', 'all');
  expect(states).toEqual(['a EXPOSED', 'b EXPOSED', expect.stringMatching(/^other /)]);
});

test('asks the clusters side by side', async () => {
  install(clusters[0]);
  const events = new EventEmitter();
  const isAsked = once(events, 'asked');
  clusters[0]?.faults.intercept(() => {
    events.emit('asked');
    return 'pass';
  });
  // This cluster answers as soon as the next one was asked.
  clusters[2]?.faults.intercept(() => (response) => {
    void isAsked.then(() => response.writeHead(404).end());
  });
  const { states } = await readStates('--contexts', 'c,a');
  expect(states).toEqual(['c EXPOSED', 'a PROTECTED']);
});

test('a cluster that does not answer costs one line', async () => {
  install(clusters[0]);
  await clusters[1]?.faults.goDown();
  clusters[2]?.faults.intercept(() => 'hang');
  const { exitCode, entries } = await readStates('--contexts', 'c,b,a', '--request-timeout', '1500ms');
  expect(exitCode).toBe(1);
  expect(entries.map(({ state }) => state)).toEqual(['UNREACHABLE', 'UNREACHABLE', 'PROTECTED']);
  expect(entries[0]?.explanation).toMatch(/^the API server at 127\.0\.0\.1:\d+ did not answer in time$/);
  expect(entries[1]?.explanation).toMatch(/connection refused/);
});

test('an unexpected error of one cluster costs one line, and is no lack of access', async () => {
  install(clusters[0]);
  const webhooks = [{ name: 'guard.machineconfig-guard.io', clientConfig: null }];
  clusters[1]?.faults.intercept(({ path: requested }) =>
    requested.endsWith('/validatingwebhookconfigurations') ? { status: 200, body: { items: [{ webhooks }] } } : 'pass',
  );
  const { exitCode, states, entries } = await readStates('--contexts', 'b,a');
  expect([exitCode, states]).toEqual([1, ['b UNKNOWN', 'a PROTECTED']]);
  expect(entries[0]?.explanation).toMatch(/^unexpected error: /);
  expect(await readStates('--contexts', 'b')).toMatchObject({ exitCode: 1, states: ['b UNKNOWN'] });
});

test('a context that does not exist costs one line', async () => {
  install(clusters[0]);
  const { exitCode, states, entries } = await readStates('--contexts', 'typo,a');
  expect([exitCode, states]).toEqual([1, ['typo UNREACHABLE', 'a PROTECTED']]);
  expect(entries[0]?.explanation).toContain('typo');
});

test('exits with 3 if the namespace of -n exists in no cluster', async () => {
  install(clusters[0]);
  const { exitCode, states, entries } = await readStates('-n', 'typo');
  expect([exitCode, states]).toEqual([3, ['a UNKNOWN']]);
  expect(entries[0]?.explanation).toMatch(/^the namespace typo of -n does not exist at /);
});

test('exits with 3 if it reached no cluster', async () => {
  for (const cluster of clusters) await cluster.faults.goDown();
  const { exitCode, stdout, stderr } = await runStatus('--contexts', 'all');
  expect([exitCode, stderr]).toEqual([3, '']);
  expect(stdout.match(/: UNREACHABLE: /g)).toHaveLength(3);
});

test('reports that the API server denies access as the reason of the state', async () => {
  clusters[0]?.faults.intercept(({ path: requested }) =>
    requested.includes('machineconfigguards') ? { status: 403, body: { kind: 'Status', message: 'no' } } : 'pass',
  );
  const { exitCode, stdout } = await runStatus();
  expect(exitCode).toBe(3);
  expect(stdout).toMatch(/^a: UNKNOWN: the API server at \S+ denies you "get" on machineconfigguards/m);
});

test('reads what the user may read, and names the rest', async () => {
  install(clusters[0]);
  clusters[0]?.faults.intercept(({ path: requested }) =>
    /deployments|leases|policybindings/.test(requested) ? { status: 403 } : 'pass',
  );
  const report = await readStates();
  expect(report).toMatchObject({ exitCode: 1, states: ['a UNKNOWN'] });
  expect(report.entries).toMatchObject([
    { failurePolicy: 'Fail', replicas: null, unreadable: ['policy floor', 'Deployment', 'Lease'] },
  ]);
});

test('writes nothing and deletes nothing', async () => {
  install(clusters[0]);
  await readStates();
  expect(new Set(clusters[0]?.faults.requests.map(({ method }) => method))).toEqual(new Set(['GET']));
});

test.each([
  [['--contexts', ','], 'Must be all, or names separated by commas.\n'],
  [['--contexts', 'all', '--context', 'a'], "cannot be used with option '--context <name>'\n"],
])('with %j, exits with 2', async (args, sentence) => {
  expect(await runStatus(...args)).toEqual(usageError(sentence));
});

test.each([
  [[], 'the kubeconfig has no current-context; choose one with --context or --contexts\n'],
  [['--contexts', 'all'], 'the kubeconfig has no current-context; log in with: oc --kubeconfig FILE login\n'],
])('without a context for %j, exits with 3', async (args, sentence) => {
  writeKubeconfig(args.length === 0 ? ['a'] : [], [], '');
  const { exitCode, stdout, stderr } = await runStatus(...args);
  const message = `machineconfig-guard: ${sentence}`.replace('FILE', file);
  expect([exitCode, stdout, stderr]).toEqual([3, '', message]);
});

test('without a kubeconfig, exits with 3', async () => {
  const { exitCode, stderr } = await runProgram(['status', '--kubeconfig', '/nowhere/kubeconfig']);
  expect([exitCode, stderr]).toEqual([3, expect.stringContaining('does not exist')]);
});

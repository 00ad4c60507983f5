import { writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { beforeEach, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { type ClusterStatus, formatStatusReport, summarizeEvidence } from '../../../src/cli/protection/status.ts';
import { CommandFormatter, inContext } from '../../../src/client/output/advice.ts';
import { WEBHOOK_NAME } from '../../../src/install/webhook-configuration.ts';
import { register } from '../../support/stub-webhook.ts';
import { startTestCluster, type TestCluster } from '../../support/test-cluster.ts';
import { runProgram } from '../run-program.ts';
import { skipWaits } from '../steps/stopping-api.ts';
import { createTemporaryDirectory } from '../temporary-directory.ts';
import { GUARDED } from './guarded-evidence.ts';

type Named = Readonly<Record<string, unknown>> & { readonly name: string };
type Kubeconfig = Readonly<Record<'clusters' | 'users', readonly Named[]>>;

const NAMESPACE = 'machineconfig-guard';
const RENEWED_AT = new Date().toISOString();
const WEBHOOKS = '/validatingwebhookconfigurations';
let clusters: [TestCluster, TestCluster, TestCluster];
let file: string;

beforeEach(async () => {
  clusters = await Promise.all([startTestCluster(), startTestCluster(), startTestCluster()]);
  file = path.join(createTemporaryDirectory(), 'kubeconfig');
  writeKubeconfig(['a', 'b', 'c']);
});

/** One context for each cluster. The first one is the current context. */
function writeKubeconfig(names: readonly string[], extraContexts: readonly Named[] = [], current = names[0] ?? '') {
  const parts = clusters.slice(0, names.length).map(({ kubeconfig }) => parse(kubeconfig) as Kubeconfig);
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: parts.map(({ clusters: [part] }, index) => ({ ...part, name: names[index] })),
    users: parts.map(({ users: [part] }, index) => ({ ...part, name: names[index] })),
    contexts: [...names.map((name) => ({ name, context: { cluster: name, user: name } })), ...extraContexts],
    'current-context': current,
  };
  writeFileSync(file, stringify(config), { mode: 0o600 });
}

function install(cluster: TestCluster, mode = 'Enforce'): void {
  register(cluster, { url: 'https://127.0.0.1:1/validate', caBundle: 'x' });
  cluster.create('machineconfigguards', { metadata: { name: 'cluster' }, spec: { mode } });
  const metadata = { name: NAMESPACE, namespace: NAMESPACE };
  cluster.create('deployments', { metadata, spec: { replicas: 2 }, status: { readyReplicas: 2 } });
  const spec = { holderIdentity: 'pod_0b9a', renewTime: RENEWED_AT, leaseDurationSeconds: 137 };
  cluster.create('leases', { metadata, spec });
}

async function runStatus(...args: string[]) {
  return await runProgram(['status', '--kubeconfig', file, ...args]);
}

async function readStates(...args: string[]) {
  const { exitCode, stdout } = await runStatus('-o', 'json', ...args);
  const { clusters: entries } = JSON.parse(stdout) as { readonly clusters: readonly ClusterStatus[] };
  // A printed command must not act on another cluster. `explain` reads none.
  for (const entry of entries)
    for (const [, command] of JSON.stringify(entry).matchAll(/"command":"(?!machineconfig-guard explain)(.*?)"/g))
      expect(`${command} `).toContain(` --context ${entry.context} `);
  return { exitCode, states: entries.map(({ context, state }) => `${context} ${state}`), entries };
}

test('asks several clusters at the same time', async () => {
  const held: ServerResponse[] = [];
  for (const cluster of clusters)
    cluster.faults.intercept(({ path: requestPath }) => {
      if (!requestPath.endsWith('/machineconfigguards/cluster')) return 'pass';
      return (response) => {
        held.push(response);
        if (held.length === clusters.length) for (const each of held) each.writeHead(403).end();
      };
    });
  await runStatus('--contexts', 'all', '--request-timeout', '60s');
  expect(held).toHaveLength(3);
});

test('exits with 0 if every cluster is protected, and 1 otherwise', async () => {
  install(clusters[0]);
  const entry = { leader: 'pod', leaderRenewedAt: RENEWED_AT, certificates: null, danglingCount: null, unreadable: [] };
  expect(await readStates()).toMatchObject({ exitCode: 0, states: ['a PROTECTED'], entries: [entry] });
  for (const [status, valid, state] of [
    ['False', false, 'BLOCKED'],
    ['True', true, 'PROTECTED'],
  ] as const) {
    const condition = { type: 'CertificatesValid', status, reason: 'A', message: 'b' };
    clusters[0].patch('machineconfigguards', 'cluster', { status: { conditions: [condition], danglingCount: 2 } });
    const certificates = { valid, reason: 'A', message: 'b' };
    expect((await readStates()).entries).toMatchObject([{ state, certificates, danglingCount: 2 }]);
  }
  const all = ['a PROTECTED', 'b EXPOSED', 'c EXPOSED'];
  expect(await readStates('--contexts', 'all')).toMatchObject({ exitCode: 1, states: all });
  install(clusters[1], 'Warn');
  const some = await readStates('--contexts', 'b,a');
  expect(some).toMatchObject({ exitCode: 1, states: ['b EXPOSED', 'a PROTECTED'] });
  expect(await readStates('--context', 'b')).toMatchObject({ exitCode: 1, states: ['b EXPOSED'] });
});

test('exits with 1 if only the floor protects although the guard is installed', async () => {
  const service = { namespace: NAMESPACE, name: NAMESPACE };
  const webhook = { name: WEBHOOK_NAME, failurePolicy: 'Ignore', clientConfig: { service, caBundle: 'x' } };
  let webhooks: readonly object[] = [];
  clusters[0].faults.intercept(({ path: requested }) => {
    if (requested.endsWith(WEBHOOKS))
      return { status: 200, body: { items: [{ metadata: { name: NAMESPACE }, webhooks }] } };
    const binding = { spec: { validationActions: ['Deny'] } };
    return requested.includes('/validatingadmissionpolicybindings/') ? { status: 200, body: binding } : 'pass';
  });
  expect(await readStates()).toMatchObject({ exitCode: 0, states: ['a PROTECTED'] });
  webhooks = [webhook];
  expect(await readStates()).toMatchObject({ exitCode: 1, states: ['a PROTECTED'] });
  expect((await runStatus()).stdout).toMatch(/^a +PROTECTED \(floor\) [^]*^a: PROTECTED: only the policy floor /m);
});

// OpenShift 4.17 is the first release that serves policies as v1.
test.each([
  ['v1.29.9', ['oc']],
  ['v1.30.0', ['machineconfig-guard', 'oc']],
])('on Kubernetes %s, offers as ways out of BLOCKED commands of %j', async (gitVersion, programs) => {
  const service = { namespace: NAMESPACE, name: NAMESPACE };
  const webhook = { name: WEBHOOK_NAME, failurePolicy: 'Fail', clientConfig: { service, caBundle: 'x' } };
  const items = [{ metadata: { name: NAMESPACE }, webhooks: [webhook] }];
  clusters[0].faults.intercept(({ path: requested }) => {
    if (requested === '/version') return { status: 200, body: { gitVersion } };
    return requested.endsWith(WEBHOOKS) ? { status: 200, body: { items } } : 'pass';
  });
  const { states, entries } = await readStates();
  expect(states).toEqual(['a BLOCKED']);
  const commands = programs.map((program) => ({ command: expect.stringMatching(`^${program} `) as string }));
  expect(entries).toMatchObject([{ waysOut: commands }]);
});

test('asks one context for each cluster and user with all, and prefers the current one', async () => {
  const project = { name: 'project', context: { cluster: 'a', user: 'a', namespace: 'project' } };
  const other = { name: 'other', context: { cluster: 'b', user: 'a' } };
  writeKubeconfig(['a', 'b'], [project, other]);
  const { states } = await readStates('--contexts', 'all');
  expect(states).toEqual(['a EXPOSED', 'b EXPOSED', expect.stringMatching(/^other /)]);
});

test('a cluster that cannot be read costs one line, and the exit code is 3 if no other one answers', async () => {
  install(clusters[0]);
  await clusters[1].stop();
  clusters[2].faults.intercept(() => 'hang');
  const { exitCode, entries } = await readStates('--contexts', 'b,typo,a');
  expect(exitCode).toBe(1);
  expect(entries).toMatchObject([
    { state: 'UNREACHABLE', explanation: expect.stringContaining('connection refused') },
    { state: 'UNREACHABLE', explanation: expect.stringContaining('typo') },
    { state: 'PROTECTED' },
  ]);
  const explanation = expect.stringMatching(
    /^the API .* did not answer in time; check the kube-apiserver pods, or raise --request-timeout/,
  ) as string;
  const silent = { exitCode: 3, entries: [{ state: 'UNREACHABLE', explanation }, { state: 'UNREACHABLE' }] };
  expect(await readStates('--contexts', 'c,typo', '--request-timeout', '50ms')).toMatchObject(silent);
});

test('asks 10 clusters at a time', async () => {
  const names = Array.from({ length: 11 }, (_, index) => `c${index}`);
  writeKubeconfig(
    ['a'],
    names.map((name) => ({ name, context: { cluster: 'a', user: 'a' } })),
  );
  clusters[0].faults.intercept(() => 'hang');
  skipWaits();
  await runStatus('--contexts', names.slice(1).join());
  expect(performance.now()).toBe(10_000);
  await runStatus('--contexts', names.join());
  expect(performance.now()).toBe(30_000);
});

test('an unexpected error of one cluster costs one line, and only a denied access exits with 3', async () => {
  install(clusters[0]);
  const webhooks = [{ name: WEBHOOK_NAME, clientConfig: null }];
  clusters[1].faults.intercept(({ path: requested }) =>
    requested.endsWith(WEBHOOKS) ? { status: 200, body: { items: [{ webhooks }] } } : 'pass',
  );
  const { exitCode, states, entries } = await readStates('--contexts', 'b,a');
  expect({ exitCode, states }).toEqual({ exitCode: 1, states: ['b UNKNOWN', 'a PROTECTED'] });
  expect(entries[0]?.explanation).toMatch(/^unexpected error: /);
  expect(await readStates('--contexts', 'b')).toMatchObject({ exitCode: 1, states: ['b UNKNOWN'] });
  clusters[2].faults.intercept(({ path: requested }) => (requested.includes('guards') ? { status: 403 } : 'pass'));
  const denied = await readStates('--contexts', 'c');
  expect(denied).toMatchObject({ exitCode: 3, states: ['c UNKNOWN'] });
  const [{ explanation, advice } = {}] = denied.entries;
  expect(explanation).toMatch(/^the API server at \S+ denies you "get" on machineconfigguards[^;]*$/);
  expect(advice?.command).toMatch(/^oc .*--context c create clusterrolebinding machineconfig-guard-reader-USER /);
});

test('reads what the user may read, names the rest, and writes nothing', async () => {
  install(clusters[0]);
  clusters[0].faults.intercept(({ path: requested }) =>
    /deployments|leases|policybindings/.test(requested) ? { status: 403 } : 'pass',
  );
  const report = await readStates();
  expect(report).toMatchObject({ exitCode: 1, states: ['a UNKNOWN'] });
  const unreadable = ['floor', 'deployment', 'lease'];
  expect(report.entries).toMatchObject([{ failurePolicy: 'Fail', replicas: null, unreadable }]);
  expect(new Set(clusters[0].faults.requests.map(({ method }) => method))).toEqual(new Set(['GET']));
});

test.each([
  [
    ['--context', 'a', '--kubeconfig', '/nowhere'],
    'the kubeconfig /nowhere (from --kubeconfig) is not usable: cannot read /nowhere: it does not exist; ' +
      'correct it, or pass another file with --kubeconfig\n',
  ],
  [[], 'the kubeconfig has no current-context; choose one with --context; it has a\n'],
  [['--contexts', 'all'], 'the kubeconfig has no current-context; log in with: oc --kubeconfig FILE login\n'],
])('without a context for %j, exits with 3', async (args, sentence) => {
  writeKubeconfig(args[0] === '--contexts' ? [] : ['a'], [], '');
  const { exitCode, stdout, stderr } = await runStatus(...args);
  const message = `machineconfig-guard: ${sentence}`.replace('FILE', file);
  expect({ exitCode, stdout, stderr }).toEqual({ exitCode: 3, stdout: '', stderr: message });
});

const PROTECTED = { context: 'prod-a', server: 'api.prod-a:6443', ...summarizeEvidence(GUARDED) };
const AUDIT = summarizeEvidence({
  ...GUARDED,
  mode: 'Audit',
  deployment: { spec: { replicas: 2 }, status: { readyReplicas: 1 } },
});
const EXPOSED: ClusterStatus = {
  ...PROTECTED,
  ...AUDIT,
  context: 'lab/api-lab:6443/alice smith',
  advice: AUDIT.advice && inContext(AUDIT.advice, 'lab'),
  certificates: { valid: false, reason: 'Expiring', message: '' },
  danglingCount: 3,
  lastDenial: null,
};
const explanation = 'the API server at api.edge.example.com:6443 did not answer in time';
const UNREACHABLE: ClusterStatus = {
  ...EXPOSED,
  context: 'edge',
  state: 'UNREACHABLE',
  unreadable: ['guard'],
  explanation,
  advice: null,
};

function format(clusters: readonly ClusterStatus[], hasColors = false, columns?: number): string[] {
  const commands = new CommandFormatter('machineconfig-guard', { kubeconfig: 'lab.yaml' });
  const report = { readAt: '2026-11-23T10:00:00Z', clusters };
  return formatStatusReport({ width: columns ?? 100, columns, hasColors, commands }, report).split('\n');
}

test('prints a line for each cluster, then what to do about it', async () => {
  expect(PROTECTED).toMatchObject({ failurePolicy: 'Fail', floor: [], version: '0.1.0', protectedConfigs: 4 });
  expect(PROTECTED).toMatchObject({ leader: 'machineconfig-guard-7d9f8c6b5d-x2x4z', unreadable: [] });
  const lines = format([PROTECTED, EXPOSED, UNREACHABLE]);
  await expect(lines.join('\n')).toMatchFileSnapshot('status.txt');
  const colored = format([PROTECTED, EXPOSED, UNREACHABLE], true);
  expect(colored.map(stripVTControlCharacters)).toEqual(lines);
  const red = colored
    .slice(1, 4)
    .map((line) => [...line.matchAll(/\p{Cc}\[31m(.*?)\p{Cc}\[39m/gu)].map(([, text]) => text));
  expect(red).toEqual([[], ['EXPOSED', '1/2', 'Expiring', '3'], ['UNREACHABLE']]);
});

test('in a terminal that is narrower than the table, keeps one line for each cluster, and drops columns', () => {
  const lines = format([EXPOSED, UNREACHABLE], false, 60);
  expect(lines.slice(0, 4)).toEqual([
    'CONTEXT                       STATE        MODE   DANGLING',
    `${EXPOSED.context}  EXPOSED      Audit  3`,
    'edge                          UNREACHABLE',
    '(-o json also has REPLICAS, CERTIFICATES and LAST DENIAL)',
  ]);
  expect(format([EXPOSED], false, 100)[0]).toMatch(/ LAST DENIAL$/);
});

test('advises a dry run once, and only for a cluster that was read, if one is protected', () => {
  const { advice } = summarizeEvidence({ ...GUARDED, lease: null, deployment: undefined });
  const findAdvice = (clusters: readonly ClusterStatus[]) =>
    format(clusters).flatMap((line) => /verify .*(--context .*)$/.exec(line)?.[1] ?? []);
  expect(findAdvice([PROTECTED])).toEqual(['--context prod-a']);
  expect(findAdvice([UNREACHABLE, PROTECTED])).toEqual(['--context prod-a']);
  expect(findAdvice([UNREACHABLE])).toEqual([]);
  expect(findAdvice([EXPOSED])).toEqual([]);
  expect(format([{ ...EXPOSED, advice }]).filter((line) => line.includes('verify'))).toHaveLength(1);
});

test('prints <unknown> for a value that the user may not read, and <none> for one that does not exist', () => {
  const missing = { ...PROTECTED, replicas: null, readyReplicas: null };
  const lines = format([{ ...missing, unreadable: ['deployment'] }, missing]);
  expect(lines.slice(1, 3).map((line) => line.match(/<\w+>/g))).toEqual([['<unknown>'], ['<none>']]);
});

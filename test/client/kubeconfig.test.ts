import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { validateHeaderValue } from 'node:http';
import path from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { beforeEach, expect, test, vi } from 'vitest';
import { parse, stringify } from 'yaml';
import { createAuthority, issueLeaf } from '../../src/certificates/authority.ts';
import { CliError } from '../../src/client/exit.ts';
import { CommandFormatter } from '../../src/client/output/advice.ts';
import type { ClusterFlags } from '../../src/client/cluster-options.ts';
import { KubeConnection } from '../../src/client/kube-connection.ts';
import { loadConnection } from '../../src/client/kubeconfig.ts';
import { createTemporaryDirectory } from '../cli/temporary-directory.ts';
import { buildKubeconfig, connectionFromKubeconfig } from '../support/kubeconfig.ts';
import { fakeUntilEnd } from '../support/until-end.ts';

let home: string;

beforeEach(() => {
  home = createTemporaryDirectory();
  vi.spyOn(process.stderr, 'write').mockReturnValue(true);
});

function writeKubeconfig(file: string, name: string, user: object = { token: 'the-secret-token' }) {
  const target = path.join(home, file);
  mkdirSync(path.dirname(target), { recursive: true });
  const kubeconfig = buildKubeconfig(`https://${name}.example:6443`, user, { name });
  writeFileSync(target, kubeconfig.replaceAll('$HOME', home));
  return target;
}

function setEnvironment(env: Record<string, string>): void {
  const unset = { KUBECONFIG: undefined, KUBERNETES_SERVICE_HOST: undefined };
  for (const [name, value] of Object.entries({ ...unset, HOME: home, ...env })) vi.stubEnv(name, value);
}

function hostOf(options: ClusterFlags, env: Record<string, string> = {}) {
  setEnvironment(env);
  return loadConnection(options, path.join(home, 'pod')).server.hostname;
}

test('loads --kubeconfig, else existing files in KUBECONFIG, else ~/.kube/config, else the account of the pod', () => {
  const flag = writeKubeconfig('flag', 'flag');
  // It defines the names of an earlier file, whose values win.
  const three = writeKubeconfig('three', 'one');
  writeFileSync(three, readFileSync(three, 'utf8').replaceAll('one.example', 'three.example'));
  // Also the context of an earlier file wins.
  const files = [path.join(home, 'missing'), writeKubeconfig('one', 'one'), three, writeKubeconfig('two', 'two')];
  const KUBECONFIG = files.join(path.delimiter);
  vi.stubEnv('KUBERNETES_SERVICE_PORT', '443');
  const account = path.join(home, 'pod', 'var/run/secrets/kubernetes.io/serviceaccount');
  mkdirSync(account, { recursive: true });
  for (const file of ['token', 'ca.crt']) writeFileSync(path.join(account, file), 'x');
  const inPod = { KUBERNETES_SERVICE_HOST: 'pod.example' };
  expect(hostOf({}, inPod)).toBe('pod.example');
  writeFileSync(path.join(home, 'empty'), '');
  expect(hostOf({}, { ...inPod, KUBECONFIG: path.join(home, 'empty') })).toBe('pod.example');
  expect(hostOf({}, { ...inPod, KUBECONFIG: files[0] ?? '' })).toBe('pod.example');

  writeKubeconfig('.kube/config', 'home');
  expect(hostOf({}, inPod)).toBe('home.example');
  expect(hostOf({}, { ...inPod, KUBECONFIG })).toBe('one.example');
  expect(hostOf({ context: 'two' }, { ...inPod, KUBECONFIG })).toBe('two.example');
  expect(hostOf({ kubeconfig: flag }, { ...inPod, KUBECONFIG })).toBe('flag.example');
});

async function findError(options: ClusterFlags, env: Record<string, string> = {}): Promise<string> {
  setEnvironment(env);
  try {
    await loadConnection(options).credentials();
  } catch (error) {
    if (error instanceof CliError) expect(error.exitCode).toBe(3);
    const commands = new CommandFormatter('machineconfig-guard', options);
    return error instanceof CliError ? error.describe(commands) : (error as Error).message;
  }
  return expect.fail('there is no error');
}

const LOGIN =
  "during an install, pass --kubeconfig auth/kubeconfig of the installer's directory; otherwise log in with: oc login";

test('throws one sentence if there is no kubeconfig', async () => {
  expect(await findError({})).toBe(
    `no cluster: neither --kubeconfig nor KUBECONFIG is set, and ${home}/.kube/config does not exist; ${LOGIN}`,
  );
  expect(await findError({}, { KUBECONFIG: '/x:/y' })).toBe(
    `no cluster: no file of KUBECONFIG exists: /x, /y; ${LOGIN}`,
  );
  expect(await findError({ kubeconfig: '/x' })).toBe(
    'the kubeconfig /x (from --kubeconfig) is not usable: cannot read /x: it does not exist; ' +
      'correct it, or pass another file with --kubeconfig',
  );
  const kubeconfig = writeKubeconfig('f', 'f');
  expect(await findError({ kubeconfig, context: 'g' })).toBe('the kubeconfig has no context "g"; it has f');
});

test('prints what an exec plugin prints to stderr, such as where a person logs in', async () => {
  const write = vi.spyOn(process.stderr, 'write');
  const args = ['-c', 'echo open https://login.example.com >&2; exit 1'];
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'sh', args };
  const error = await findError({ kubeconfig: writeKubeconfig('f', 'f', { exec }) });
  expect(error).toBe('the command sh of the kubeconfig fails; run it to see why');
  expect(write.mock.calls).toEqual([['open https://login.example.com\n']]);
});

test('runs an exec plugin once for requests in parallel, and again after it failed', async () => {
  const runs = path.join(home, 'runs');
  const args = ['-c', `echo run >>${runs}; exit 1`];
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'sh', args };
  const connection = loadConnection({ kubeconfig: writeKubeconfig('f', 'f', { exec }) });
  const logIn = () => connection.credentials().catch((error: unknown) => (error as Error).message);
  const message = 'the command sh of the kubeconfig fails; run it to see why';
  expect(await Promise.all([logIn(), logIn(), logIn()])).toEqual([message, message, message]);
  expect(readFileSync(runs, 'utf8')).toBe('run\n');
  await logIn();
  expect(readFileSync(runs, 'utf8')).toBe('run\nrun\n');
});

/** Aliases of aliases: a few lines that stand for more values than any kubeconfig has. */
const MANY_VALUES = [
  'a0: &a0 [1, 1]',
  ...[1, 2, 3, 4, 5, 6].map((at) => `a${at}: &a${at} [${`*a${at - 1}, `.repeat(9)}]`),
];

test.each([
  ['a directory', () => home, 'it is a directory'],
  ['a named pipe without a writer', createPipe, 'it is not a regular file'],
  ['a device that never ends', () => '/dev/zero', 'it is not a regular file'],
  ['too many bytes', () => writeText(' '.repeat(16 * 1024 * 1024 + 1)), 'has more than 16 MiB'],
  ['too many values', () => writeText(MANY_VALUES.join('\n')), 'have more than 500000 values'],
])('rejects %s as a kubeconfig, and names the file', async (_what, create, problem) => {
  const kubeconfig = create();
  const error = await findError({ kubeconfig });
  expect(error).toContain(`the kubeconfig ${kubeconfig} (from --kubeconfig) is not usable: `);
  expect(error).toContain(problem);
});

function createPipe(): string {
  const file = path.join(home, 'pipe');
  execFileSync('mkfifo', [file]);
  return file;
}

function writeText(text: string): string {
  const file = path.join(home, 'large');
  writeFileSync(file, text);
  return file;
}

const { kubeconfigs } = parse(readFileSync(new URL('kubeconfigs.yaml', import.meta.url), 'utf8'), { merge: true }) as {
  readonly kubeconfigs: readonly [what: string, content: object | string, error: string][];
};

test.each(kubeconfigs)('throws one sentence without secrets if the kubeconfig %s', async (_what, content, message) => {
  const kubeconfig = path.join(home, 'kubeconfig');
  writeFileSync(kubeconfig, typeof content === 'string' ? content : stringify(content));
  const error = await findError({ kubeconfig });
  expect(error).toMatch(new RegExp(message));
  expect(error).toMatch(/^[^\n]+$/);
  expect(error).not.toContain('secret-token');
});

test('names a client certificate that has expired, because the API server answers only 401', async () => {
  const now = new Date('2024-01-01T00:00:00Z');
  const authority = await createAuthority({ days: 30, now });
  const leaf = await issueLeaf({ authority, dnsNames: ['alice'], ipAddresses: [], days: 1, now });
  const encode = (pem: string) => Buffer.from(pem).toString('base64');
  const user = {
    'client-certificate-data': encode(leaf.certificatePem),
    'client-key-data': encode(leaf.privateKeyPem),
  };
  const error: unknown = await loadConnection({ kubeconfig: writeKubeconfig('k', 'k', user) })
    .credentials()
    .catch((thrown: unknown) => thrown);
  const message =
    'the client certificate in the kubeconfig expired at 2024-01-02T00:00:00Z by the clock of this machine';
  expect(error).toMatchObject({ message, needsLogin: true });
});

test.each<[string, object]>([
  ['tokenFile', { tokenFile: 'token' }],
  ['tokenFile beside a token', { tokenFile: 'token', token: 'old' }],
  ['an auth provider', { 'auth-provider': { name: 'tokenFile', config: { tokenFile: '$HOME/token' } } }],
])('reads the token of %s from its file, without the line break at its end', async (_title, user) => {
  writeFileSync(path.join(home, 'token'), 'abc\n');
  const kubeconfig = writeKubeconfig('k', 'k', user);
  const connection = loadConnection({ kubeconfig });
  expect((await connection.credentials()).headers).toEqual({ Authorization: 'Bearer abc' });
  // The client library reads it once a minute.
  writeFileSync(path.join(home, 'token'), 'def\n');
  fakeUntilEnd('Date');
  vi.setSystemTime(Date.now() + 71_000);
  expect((await connection.credentials()).headers).toEqual({ Authorization: 'Bearer def' });
});

test('is logging in until the command of the kubeconfig has ended', async () => {
  const credential = {
    apiVersion: 'client.authentication.k8s.io/v1',
    kind: 'ExecCredential',
    status: { token: 'abc' },
  };
  const exec = { apiVersion: credential.apiVersion, command: 'echo', args: [JSON.stringify(credential)] };
  const connection = loadConnection({ kubeconfig: writeKubeconfig('k', 'k', { exec }) });
  const reading = connection.credentials();
  expect(connection.isLoggingIn).toBe(true);
  expect((await reading).headers).toEqual({ Authorization: 'Bearer abc' });
  expect(connection.isLoggingIn).toBe(false);
});

test('keeps credentials for 10 s', async () => {
  fakeUntilEnd('Date');
  const config = new KubeConfig();
  config.loadFromString(buildKubeconfig('https://a.example', { token: 'abc' }));
  const read = vi.spyOn(config, 'applyToHTTPSOptions');
  const connection = new KubeConnection(() => config);
  const startedAt = Date.now();
  const counts: number[] = [];
  for (const ms of [0, 9_999, 10_000]) {
    vi.setSystemTime(startedAt + ms);
    await connection.credentials();
    counts.push(read.mock.calls.length);
  }
  expect(counts).toEqual([1, 1, 2]);
});

test('accepts exactly the tokens that Node.js can send', async () => {
  const canSend = (text: string): boolean => {
    try {
      validateHeaderValue('Authorization', text);
      return true;
    } catch {
      return false;
    }
  };
  for (let code = 0; code <= 0x101; code += 1) {
    const token = `a${String.fromCharCode(code)}b`;
    const connection = connectionFromKubeconfig(buildKubeconfig('https://a.example', { token }));
    const isAccepted = await connection.credentials().then(
      () => true,
      () => false,
    );
    expect([code, isAccepted]).toEqual([code, canSend(token)]);
  }
});

test.each(['http', 'https', 'socks5'])('accepts a proxy-url of %s, as kubectl does', (scheme) => {
  const cluster = { 'proxy-url': `${scheme}://proxy.example:3128` };
  const connection = connectionFromKubeconfig(buildKubeconfig('https://a.example', {}, { cluster }));
  expect(connection.isProxied).toBe(true);
});

test.each([
  { 'client-certificate': 'it', 'client-key': 'k' },
  { 'client-key': 'it', 'client-certificate': 'k' },
  { tokenFile: 'it' },
])('looks for the file of %j beside the kubeconfig', async (user) => {
  const kubeconfig = writeKubeconfig('folder/k', 'k', user);
  expect(await findError({ kubeconfig })).toContain(path.join(home, 'folder/it'));
});

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { atFirstUse, leanClient } from '../../build/lean-libraries.ts';
import * as fullConnection from '../../src/kube/connection.ts';

const UNDICI = createRequire(createRequire(import.meta.url).resolve('@kubernetes/client-node')).resolve(
  'undici',
);

let directory: string;
let program: string;
let leanConnection: typeof fullConnection;

beforeAll(async () => {
  directory = mkdtempSync(path.join(tmpdir(), 'mcg-lean-'));
  program = path.join(directory, 'connection.cjs');
  await build({
    entryPoints: [path.join(import.meta.dirname, '../../src/kube/connection.ts')],
    outfile: program,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    plugins: [leanClient, atFirstUse],
  });
  leanConnection = createRequire(import.meta.url)(program) as typeof fullConnection;
}, 60_000);

afterAll(async () => {
  await rm(directory, { recursive: true });
});

/** Whether a module loads undici, which then registers its dispatcher. */
function isUndiciLoaded(file: string): boolean {
  const script = `require(process.argv[1]); console.log(Symbol.for('undici.globalDispatcher.1') in globalThis)`;
  return execFileSync(process.execPath, ['-e', script, file], { encoding: 'utf8' }) === 'true\n';
}

test('does not load undici at the start, and does not contain unused classes', () => {
  expect(isUndiciLoaded(program)).toBe(false);
  expect(isUndiciLoaded(UNDICI)).toBe(true);
  expect(readFileSync(program, 'utf8')).not.toContain('V1ReplicaSet');
});

const TOKEN = { token: 'abc' };
const EXEC = { apiVersion: 'client.authentication.k8s.io/v1', command: './plugin', interactiveMode: 'Never' };
const GCP = {
  'cmd-path': './plugin',
  'token-key': '{.status.token}',
  'expiry-key': '{.status.expirationTimestamp}',
};

test.each([
  ['a token', TOKEN, {}],
  ['a client certificate', { 'client-certificate-data': 'Y2VydA==', 'client-key-data': 'a2V5' }, {}],
  ['an exec plugin', { exec: EXEC }, {}],
  [
    'an auth provider with paths into the output of its command',
    { 'auth-provider': { name: 'gcp', config: GCP } },
    {},
  ],
  ['an authority', TOKEN, { 'certificate-authority-data': 'Y2E=' }],
  ['a proxy', TOKEN, { 'proxy-url': 'http://proxy.example:3128' }],
  ['a SOCKS proxy', TOKEN, { 'proxy-url': 'socks5://proxy.example:1080' }],
])('returns the same credentials as the full library for %s', async (_name, user, cluster) => {
  const plugin = path.join(directory, 'plugin');
  writeFileSync(plugin, `#!/bin/sh\necho '${JSON.stringify(EXEC_CREDENTIAL)}'\n`, { mode: 0o755 });
  const kubeconfig = path.join(directory, 'kubeconfig');
  writeFileSync(kubeconfig, JSON.stringify(createKubeconfig(user, cluster)).replaceAll('./plugin', plugin));
  const expected = await fullConnection.loadConnection({ kubeconfig }).credentials();
  const actual = await leanConnection.loadConnection({ kubeconfig }).credentials();
  expect(toComparable(actual)).toEqual(toComparable(expected));
});

const EXEC_CREDENTIAL = {
  apiVersion: 'client.authentication.k8s.io/v1',
  kind: 'ExecCredential',
  status: { token: 'printed', expirationTimestamp: '2099-01-01T00:00:00Z' },
};

function createKubeconfig(user: object, cluster: object): object {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'a',
    contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
    clusters: [{ name: 'a', cluster: { server: 'https://a.example:6443', ...cluster } }],
    users: [{ name: 'a', user }],
  };
}

/** Reduces the agent, which has timers and sockets, to its class and its proxy. esbuild adds a number to some names. */
function toComparable({ agent, ...others }: fullConnection.Credentials): object {
  const { constructor, proxy } = (agent ?? {}) as {
    readonly constructor: { readonly name: string };
    readonly proxy?: unknown;
  };
  return { ...others, agent: constructor.name.replace(/\d+$/, ''), proxy };
}

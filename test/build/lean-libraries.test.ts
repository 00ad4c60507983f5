import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { atFirstUse, leanClient } from '../../build/lean-libraries.ts';
import * as whole from '../../src/kube/connection.ts';

/** Prints whether undici is there: from the moment it is loaded, its dispatcher is. */
const HAS_UNDICI = `console.log(Symbol.for('undici.globalDispatcher.1') in globalThis)`;

const UNDICI = createRequire(createRequire(import.meta.url).resolve('@kubernetes/client-node')).resolve('undici');

let home: string;
let program: string;
let lean: typeof whole;

beforeAll(async () => {
  home = mkdtempSync(path.join(tmpdir(), 'mcg-lean-'));
  program = path.join(home, 'connection.cjs');
  await build({
    entryPoints: [path.join(import.meta.dirname, '../../src/kube/connection.ts')],
    outfile: program,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    plugins: [leanClient, atFirstUse],
  });
  lean = createRequire(import.meta.url)(program) as typeof whole;
}, 60_000);

afterAll(async () => {
  await rm(home, { recursive: true });
});

test('what is seldom needed is not loaded with it, and classes that nobody uses are not there', () => {
  const load = (script: string): string =>
    execFileSync(process.execPath, ['-e', script, program], { encoding: 'utf8' });
  expect(load(`require(process.argv[1]); ${HAS_UNDICI}`)).toBe('false\n');
  expect(load(`require(${JSON.stringify(UNDICI)}); ${HAS_UNDICI}`)).toBe('true\n');
  expect(readFileSync(program, 'utf8')).not.toContain('V1ReplicaSet');
});

const TOKEN = { token: 'abc' };

test.each([
  ['a token', TOKEN, {}],
  ['a client certificate', { 'client-certificate-data': 'Y2VydA==', 'client-key-data': 'a2V5' }, {}],
  ['a name and a password', { username: 'admin', password: 'secret' }, {}],
  ['a file with a token', { tokenFile: 'token' }, {}],
  [
    'a plug-in',
    { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: './plug-in', interactiveMode: 'Never' } },
    {},
  ],
  [
    'a plug-in with a path into what it prints',
    {
      'auth-provider': {
        name: 'gcp',
        config: {
          'cmd-path': './plug-in',
          'token-key': '{.status.token}',
          'expiry-key': '{.status.expirationTimestamp}',
        },
      },
    },
    {},
  ],
  ['an authority', TOKEN, { 'certificate-authority-data': 'Y2E=' }],
  ['a proxy', TOKEN, { 'proxy-url': 'http://proxy.example:3128' }],
  ['a SOCKS proxy', TOKEN, { 'proxy-url': 'socks5://proxy.example:1080' }],
])('a kubeconfig with %s: the same credentials as with the whole library', async (_with, user, cluster) => {
  const plugin = path.join(home, 'plug-in');
  writeFileSync(plugin, `#!/bin/sh\necho '${JSON.stringify(PRINTED)}'\n`, { mode: 0o755 });
  writeFileSync(path.join(home, 'token'), 'from-a-file\n');
  const kubeconfig = path.join(home, 'kubeconfig');
  writeFileSync(kubeconfig, JSON.stringify(config(user, cluster)).replaceAll('./plug-in', plugin));
  const expected = await whole.loadConnection({ kubeconfig }).credentials();
  const found = await lean.loadConnection({ kubeconfig }).credentials();
  expect(comparable(found)).toEqual(comparable(expected));
  expect(Object.keys(expected).length).toBeGreaterThan(1);
});

const PRINTED = {
  apiVersion: 'client.authentication.k8s.io/v1',
  kind: 'ExecCredential',
  status: { token: 'printed', expirationTimestamp: '2099-01-01T00:00:00Z' },
};

function config(user: object, cluster: object): object {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'a',
    contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
    clusters: [{ name: 'a', cluster: { server: 'https://a.example:6443', ...cluster } }],
    users: [{ name: 'a', user }],
  };
}

/** Agents have timers and sockets; what kind of agent it is, and for which proxy, tells them apart. esbuild numbers names that it has twice. */
function comparable({ agent, ...others }: whole.Credentials): object {
  const { constructor, proxy } = (agent ?? {}) as {
    readonly constructor: { readonly name: string };
    readonly proxy?: unknown;
  };
  return { ...others, agent: constructor.name.replace(/\d+$/, ''), proxy };
}

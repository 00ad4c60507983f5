import { mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { atFirstUse, leanClient } from '../../build/lean-libraries.ts';
import { createAuthority } from '../../src/certificates/authority.ts';
import { encodeBase64 } from '../../src/install/manifest.ts';
import * as fullConnection from '../../src/client/kubeconfig.ts';
import type { Credentials } from '../../src/kube/api.ts';

let directory: string;
let program: string;
let leanConnection: typeof fullConnection;

beforeAll(async () => {
  directory = mkdtempSync(path.join(tmpdir(), 'mcg-lean-'));
  program = path.join(directory, 'connection.cjs');
  await build({
    entryPoints: [path.join(import.meta.dirname, '../../src/client/kubeconfig.ts')],
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

const EXEC = { apiVersion: 'client.authentication.k8s.io/v1', command: './plugin', interactiveMode: 'Never' };
const AUTHORITY = await createAuthority({ days: 1, now: new Date() });
const [CERTIFICATE, KEY] = [AUTHORITY.certificatePem, AUTHORITY.privateKeyPem].map(encodeBase64);
const OUTPUT = { ...EXEC, kind: 'ExecCredential', status: { token: 'printed', expiry: '2099-01-01T00:00:00Z' } };

test.each([
  [
    'certificates',
    { 'client-certificate-data': CERTIFICATE, 'client-key-data': KEY },
    { 'certificate-authority-data': CERTIFICATE },
  ],
  ['an exec plugin', { exec: EXEC }, {}],
  ['a proxy', { token: 'abc' }, { 'proxy-url': 'http://proxy.example:3128' }],
  ['a SOCKS proxy', { token: 'abc' }, { 'proxy-url': 'socks5://proxy.example:1080' }],
])('returns the same credentials as the full library for %s', async (_name, user, cluster) => {
  const plugin = path.join(directory, 'plugin');
  writeFileSync(plugin, `#!/bin/sh\necho '${JSON.stringify(OUTPUT)}'`, { mode: 0o755 });
  const kubeconfig = path.join(directory, 'kubeconfig');
  const content = {
    'current-context': 'a',
    contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
    clusters: [{ name: 'a', cluster: { server: 'https://a.example:6443', ...cluster } }],
    users: [{ name: 'a', user }],
  };
  writeFileSync(kubeconfig, JSON.stringify(content).replaceAll('./plugin', plugin));
  const expected = await fullConnection.loadConnection({ kubeconfig }).credentials();
  const actual = await leanConnection.loadConnection({ kubeconfig }).credentials();
  expect(toComparable(actual)).toEqual(toComparable(expected));
});

/** Reduces the agent to its class and its proxy. esbuild adds numbers to names. */
function toComparable({ agent, ...others }: Credentials): object {
  const { constructor, proxy } = (agent ?? {}) as { readonly constructor: { name: string }; readonly proxy?: unknown };
  return { ...others, agent: constructor.name.replace(/\d+$/, ''), proxy };
}

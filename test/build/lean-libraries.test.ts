import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import { atFirstUse, leanClient } from '../../build/lean-libraries.ts';
import { createAuthority } from '../../src/certificates/authority.ts';
import * as fullConnection from '../../src/client/kubeconfig.ts';
import { encodeBase64 } from '../../src/install/manifest.ts';
import type { Credentials } from '../../src/kube/api.ts';
import { createTemporaryDirectory, writeFiles } from '../cli/temporary-directory.ts';
import { buildKubeconfig } from '../support/kubeconfig.ts';

const EXEC = { apiVersion: 'client.authentication.k8s.io/v1', interactiveMode: 'Never' };
const OUTPUT = { ...EXEC, kind: 'ExecCredential', status: { token: 'printed', expiry: '2099-01-01T00:00:00Z' } };

test('returns the same credentials as the full library', async () => {
  const directory = createTemporaryDirectory();
  const outfile = path.join(directory, 'connection.cjs');
  await build({
    entryPoints: [path.join(import.meta.dirname, '../../src/client/kubeconfig.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    plugins: [leanClient, atFirstUse],
  });
  const leanConnection = createRequire(import.meta.url)(outfile) as typeof fullConnection;
  const command = path.join(directory, 'plugin');
  writeFileSync(command, `#!/bin/sh\necho '${JSON.stringify(OUTPUT)}'`, { mode: 0o755 });
  const { certificatePem, privateKeyPem } = await createAuthority({ days: 1, now: new Date() });
  const [certificate, key] = [certificatePem, privateKeyPem].map(encodeBase64);
  const rows = [
    [{ 'client-certificate-data': certificate, 'client-key-data': key }, { 'certificate-authority-data': certificate }],
    [{ exec: { ...EXEC, command } }, {}],
    [{ token: 'abc' }, { 'proxy-url': 'http://proxy.example:3128' }],
    [{ token: 'abc' }, { 'proxy-url': 'socks5://proxy.example:1080' }],
  ];
  for (const [user = {}, cluster = {}] of rows) {
    const kubeconfig = buildKubeconfig('https://a.example:6443', user, { cluster });
    writeFiles(directory, { kubeconfig });
    const [actual, expected] = [leanConnection, fullConnection].map(({ loadConnection }) =>
      loadConnection({ kubeconfig: path.join(directory, 'kubeconfig') }).credentials(),
    );
    expect(toComparable(await actual!)).toEqual(toComparable(await expected!));
  }
});

/** Reduces the agent to its class and its proxy. esbuild adds numbers to names. */
function toComparable({ agent, ...others }: Credentials): object {
  const { constructor, proxy } = (agent ?? {}) as { readonly constructor: { name: string }; readonly proxy?: unknown };
  return { ...others, agent: constructor.name.replace(/\d+$/, ''), proxy };
}

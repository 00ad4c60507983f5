import { constants, mkdtempSync, openSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { buildWebhookConfiguration } from '../../src/install/webhook-configuration.ts';
import { LogPipe } from '../support/log-pipe.ts';
import { testTls } from '../support/tls.ts';
import { type CommandProcess, startCommand } from './command-process.ts';
import { startTestCluster, type TestCluster } from '../support/test-cluster.ts';

const CONFIG = 'rendered-worker-a4983d88dabdc54ecf977ee120fd3796';
const TOKEN = 'a-token-that-must-not-be-logged';

let sandbox: TestCluster;
let directory: string;
let ca: string;

beforeEach(async () => {
  directory = mkdtempSync(path.join(tmpdir(), 'mcg-serve-'));
  const tls = await testTls();
  const leaf = await tls.leaf();
  ca = Buffer.from(tls.ca).toString('base64');
  sandbox = await startTestCluster();
  writeFileSync(path.join(directory, 'kubeconfig'), sandbox.kubeconfig);
  writeFileSync(path.join(directory, 'tls.crt'), leaf.certificatePem);
  writeFileSync(path.join(directory, 'tls.key'), leaf.privateKeyPem);
  sandbox.create('machineconfigs', { metadata: { name: CONFIG } });
  const annotations = { 'machineconfiguration.openshift.io/currentConfig': CONFIG };
  sandbox.create('nodes', { metadata: { name: 'worker-0', annotations } });
});

afterEach(async () => {
  await sandbox.stop();
  await rm(directory, { recursive: true });
});

function serve(stdout: 'pipe' | number = 'pipe', flags: Record<string, string> = {}): CommandProcess {
  const all = {
    '--kubeconfig': path.join(directory, 'kubeconfig'),
    '--tls-cert-file': path.join(directory, 'tls.crt'),
    '--tls-private-key-file': path.join(directory, 'tls.key'),
    '--bind-address': '127.0.0.1',
    '--secure-port': '0',
    '--health-port': '0',
    '--metrics-port': '0',
    '--shutdown-delay-duration': '0s',
    ...flags,
  };
  return startCommand(['serve', ...Object.entries(all).flat()], stdout);
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The status of the probe; 0 while nobody listens. */
async function readyz(port: number): Promise<number> {
  return await fetch(`http://127.0.0.1:${port}/readyz`).then(
    ({ status }) => status,
    () => 0,
  );
}

function register(port: number): void {
  const clientConfig = { url: `https://127.0.0.1:${port}/validate`, caBundle: ca };
  sandbox.create('validatingwebhookconfigurations', buildWebhookConfiguration({ clientConfig, failurePolicy: 'Fail' }));
}

test('ready is one JSON line with the ports; SIGTERM ends with 0; nothing secret is in the log', async () => {
  const run = serve('pipe', { '--log-level': 'debug' });
  await expect.poll(() => run.lines().find(({ msg }) => msg === 'ready'), { timeout: 15_000 }).toBeDefined();
  const ready = run.lines().find(({ msg }) => msg === 'ready') as
    { securePort: number; healthPort: number } | undefined;
  expect(ready).toMatchObject({
    level: 'info',
    securePort: expect.any(Number) as unknown,
    healthPort: expect.any(Number) as unknown,
    metricsPort: expect.any(Number) as unknown,
  });
  register(ready?.securePort ?? 0);
  sandbox.patch('machineconfigs', CONFIG, { spec: { config: `Bearer ${TOKEN}` } });
  expect((await sandbox.delete('machineconfigs', CONFIG, { headers: { 'x-secret': TOKEN } })).status).toBe(403);
  expect(await (await fetch(`http://127.0.0.1:${ready?.healthPort}/healthz`)).text()).toBe('ok\n');

  run.child.kill('SIGTERM');
  expect(await run.ended).toBe(0);
  expect(run.lines().find(({ code }) => code === 'MCG_IN_USE')).toMatchObject({
    level: 'warn',
    uid: expect.any(String) as unknown,
    name: CONFIG,
    user: 'system:admin',
    verdict: 'denied',
    referrers: [{ kind: 'Node', name: 'worker-0', field: 'currentConfig' }],
    path: 'index',
    ms: expect.any(Number) as unknown,
  });
  expect(run.output()).not.toContain(TOKEN);
  expect(run.output()).not.toMatch(/Bearer|PRIVATE KEY/);
});

test('a disk that is full: lines are lost, deletions are still answered, and SIGTERM still ends with 0', async () => {
  // Nothing can be read from its log, so the ports are chosen here.
  const [securePort, healthPort] = [await freePort(), await freePort()];
  // Every write to it fails with ENOSPC.
  const run = serve(openSync('/dev/full', 'w'), {
    '--secure-port': String(securePort),
    '--health-port': String(healthPort),
  });
  await expect.poll(async () => await readyz(healthPort), { timeout: 15_000 }).toBe(200);
  register(securePort);
  for (let attempt = 0; attempt < 20; attempt += 1) {
    expect((await sandbox.delete('machineconfigs', CONFIG)).status).toBe(403);
  }
  run.child.kill('SIGTERM');
  expect(await run.ended).toBe(0);
});

test('a log that nobody reads: deletions are still answered, and what was kept comes once it is read again', async () => {
  const [securePort, healthPort] = [await freePort(), await freePort()];
  const pipe = new LogPipe(path.join(directory, 'log'));
  onTestFinished(() => {
    pipe.close();
  });
  pipe.fill();
  const run = serve(openSync(pipe.file, constants.O_WRONLY), {
    '--secure-port': String(securePort),
    '--health-port': String(healthPort),
  });
  await expect.poll(async () => await readyz(healthPort), { timeout: 30_000 }).toBe(200);
  register(securePort);
  expect((await sandbox.delete('machineconfigs', CONFIG)).status).toBe(403);

  expect(pipe.read()).not.toContain('MCG_IN_USE');
  expect((await sandbox.delete('machineconfigs', CONFIG)).status).toBe(403);
  await expect.poll(() => pipe.read(), { timeout: 5_000 }).toMatch(/"msg":"ready"[^]*MCG_IN_USE[^]*MCG_IN_USE/);
  run.child.kill('SIGTERM');
  expect(await run.ended).toBe(0);
});

test('an API server that is not there yet: serves, is not ready, and becomes ready by itself', async () => {
  await sandbox.faults.goDown();
  const run = serve();
  await expect.poll(() => run.lines().find(({ msg }) => msg === 'listening'), { timeout: 15_000 }).toBeDefined();
  await expect.poll(() => run.output(), { timeout: 5_000 }).toContain('cannot follow nodes');
  expect(run.lines().some(({ msg }) => msg === 'ready')).toBe(false);
  await sandbox.faults.comeUp();
  await expect.poll(() => run.lines().some(({ msg }) => msg === 'ready'), { timeout: 10_000 }).toBe(true);
});

test('ports that are taken, files that are not there: one sentence, exit code 2', async () => {
  const { port } = new URL(sandbox.url);
  const taken = serve('pipe', { '--secure-port': port });
  expect(await taken.ended).toBe(2);
  expect(taken.output()).toMatch(/machineconfig-guard: cannot listen on .*EADDRINUSE\.\n$/);

  const missing = serve('pipe', { '--tls-cert-file': '/nowhere/tls.crt' });
  expect(await missing.ended).toBe(2);
  expect(missing.output()).toMatch(/machineconfig-guard: \/nowhere\/tls\.crt does not exist\.\n$/);
});

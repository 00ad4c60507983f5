import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { register } from '../../support/stub-webhook.ts';
import { testTls } from '../../support/tls.ts';
import { type CommandProcess, startCommand } from '../command-process.ts';
import { createConfig, createNode, type InspectedCluster, NEW, startEmptyCluster } from '../inspected-cluster.ts';
import { usageError } from '../run-program.ts';

describe('as a process', () => {
  const secret = 'a-token-that-must-not-be-logged';
  let inspected: InspectedCluster;
  let directory: string;
  let ca: string;

  beforeEach(async () => {
    inspected = await startEmptyCluster();
    directory = path.dirname(inspected.kubeconfig);
    const tls = await testTls();
    const leaf = await tls.leaf();
    ({ ca } = tls);
    writeFileSync(path.join(directory, 'tls.crt'), leaf.certificatePem);
    writeFileSync(path.join(directory, 'tls.key'), leaf.privateKeyPem);
    createConfig(inspected.cluster, NEW);
    createNode(inspected.cluster, 'worker-0', { currentConfig: NEW });
  });

  function startServe(flags: Record<string, string> = {}): CommandProcess {
    const allFlags = {
      '--kubeconfig': inspected.kubeconfig,
      '--tls-cert-file': path.join(directory, 'tls.crt'),
      '--tls-private-key-file': path.join(directory, 'tls.key'),
      '--bind-address': '127.0.0.1',
      '--secure-port': '0',
      '--health-port': '0',
      '--metrics-port': '0',
      '--shutdown-delay-duration': '0s',
      ...flags,
    };
    return startCommand(['serve', ...Object.entries(allFlags).flat()]);
  }

  test('logs its ports but no secrets, and exits with 0 on SIGTERM', async () => {
    const serve = startServe({ '--log-level': 'debug' });
    await expect.poll(() => findLine(serve, 'msg', 'ready')).toBeDefined();
    const port: unknown = expect.any(Number);
    const ready = findLine(serve, 'msg', 'ready');
    expect(ready).toMatchObject({ level: 'info', securePort: port, healthPort: port, metricsPort: port });
    for (const name of ['securePort', 'healthPort', 'metricsPort'])
      await expect(fetch(`http://127.0.0.2:${String(ready?.[name])}`)).rejects.toMatchObject({
        cause: { code: 'ECONNREFUSED' },
      });
    const caBundle = Buffer.from(ca).toString('base64');
    register(inspected.cluster, { url: `https://127.0.0.1:${String(ready?.['securePort'])}/validate`, caBundle });
    inspected.cluster.patch('machineconfigs', NEW, { spec: { config: `Bearer ${secret}` } });
    const deletion = await inspected.cluster.delete('machineconfigs', NEW);
    expect(deletion.status).toBe(403);

    serve.child.kill('SIGTERM');
    expect((await serve.outcome).exitCode).toBe(0);
    expect(findLine(serve, 'code', 'MCG_IN_USE')).toMatchObject({
      level: 'warn',
      uid: expect.any(String) as unknown,
      name: NEW,
      user: 'system:admin',
      verdict: 'denied',
      referrers: [{ kind: 'Node', name: 'worker-0', field: 'currentConfig' }],
      path: 'index',
      ms: expect.any(Number) as unknown,
    });
    expect(serve.stdout() + serve.stderr()).not.toContain(secret);
    expect(serve.stdout() + serve.stderr()).not.toMatch(/Bearer|PRIVATE KEY/);
  });

  test('creates the settings and the Lease that its flags describe, and exits with 130 on Ctrl-C', async () => {
    const { cluster } = inspected;
    const serve = startServe({
      '--initial-mode': 'Audit',
      '--initial-hold': '24h',
      '--namespace': 'elsewhere',
      '--log-level': 'warn',
    });
    await expect
      .poll(() => cluster.get('machineconfigguards', 'cluster')?.['spec'])
      .toEqual({ mode: 'Audit', holdSuperseded: '24h' });
    await expect.poll(() => cluster.get('leases', 'machineconfig-guard', 'elsewhere')).toBeDefined();
    serve.child.kill('SIGINT');
    expect((await serve.outcome).exitCode).toBe(130);
    expect(findLine(serve, 'level', 'info')).toBeUndefined();
  });

  test('exits with 2 if a port is taken or a file does not exist', async () => {
    const { port } = new URL(inspected.cluster.url);
    // The last one, so the servers on the others must close.
    const { exitCode, stderr } = await startServe({ '--health-port': port }).outcome;
    expect([exitCode, stderr]).toEqual([
      2,
      expect.stringMatching(`cannot listen on port ${port} of 127\\.0\\.0\\.1: EADDRINUSE; choose another port`),
    ]);
    const missing = await startServe({ '--tls-cert-file': '/nowhere/tls.crt' }).outcome;
    expect(missing).toEqual(
      usageError('/nowhere/tls.crt does not exist; create the files with: machineconfig-guard certs\n'),
    );
  });
});

function findLine({ stdout }: CommandProcess, key: string, value: string) {
  const lines = stdout().split('\n').slice(0, -1);
  const entries = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  return entries.find((entry) => entry[key] === value);
}

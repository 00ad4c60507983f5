import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { kubeconfig } from '../control-plane/control-plane.ts';
import { pause } from '../control-plane/until.ts';
import { awaitFloor } from '../support/floor.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { PATHS } from '../support/paths.ts';
import { runBinaries } from '../support/run-binaries.ts';

const PROGRAM = fileURLToPath(new URL('../../../dist/machineconfig-guard.cjs', import.meta.url));
const WEBHOOK = `${PATHS.webhookConfigurations}/machineconfig-guard`;
const EFFECT_MS = 2_000;

interface Outcome {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

let installed: InstalledCluster;
let used: string;
let free: string;

beforeAll(async () => {
  installed = await InstalledCluster.start(await runBinaries());
}, 60_000);

afterAll(() => installed.stop());

async function verify(file = installed.controlPlane.apiServer.kubeconfig, ...args: string[]): Promise<Outcome> {
  const all = [PROGRAM, 'verify', '--kubeconfig', file, ...args];
  try {
    return { exitCode: 0, ...(await promisify(execFile)(process.execPath, all)) };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { exitCode: code, stdout, stderr };
  }
}

test('a cluster without a config in use: nothing to try it with', async () => {
  const { exitCode, stdout } = await verify();

  expect(exitCode).toBe(1);
  expect(stdout).toContain('NOT PROTECTED: there is nothing to try it with');
});

test('nothing is installed: not protected, and nothing is deleted', async () => {
  const { cluster } = installed;
  used = await cluster.config();
  free = await cluster.config();
  await cluster.node({ name: 'worker-0', currentConfig: used });

  const { exitCode, stdout } = await verify();

  expect(exitCode).toBe(1);
  expect(stdout).toContain('NOT PROTECTED: it would be deleted: neither the webhook nor the policies are installed.');
  expect([await cluster.exists(used), await cluster.exists(free)]).toEqual([true, true]);
});

test('the floor alone: protected, by the policy', async () => {
  await installed.applyOverlay('policy-floor');
  await awaitFloor(installed);

  const { exitCode, stdout } = await verify();

  expect(exitCode).toBe(0);
  expect(stdout).toContain(
    'Protected: the policy nodes.machineconfig-guard.io refuses the deletion of a config in use.',
  );
  await installed.deleteOverlay('policy-floor');
  await pause(EFFECT_MS);
});

test('the guard: protected, by the guard; what nothing uses could be deleted', async () => {
  await installed.applyOverlay('service-ca');
  await installed.awaitGuard();

  const { exitCode, stdout, stderr } = await verify();

  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(stdout).toContain('Protected: the guard refuses the deletion of a config in use.');
  expect(stdout).toMatch(/^unused {4}rendered-\S+ could be deleted$/m);
  expect(await installed.cluster.exists(free)).toBe(true);
});

test('the keys of --output json', async () => {
  const { stdout } = await verify(undefined, '--output', 'json');

  expect(JSON.parse(stdout)).toEqual({
    server: new URL(installed.controlPlane.apiServer.url).host,
    protected: true,
    by: 'guard',
    explanation: expect.any(String),
    advice: '',
    webhooks: [
      {
        configuration: 'machineconfig-guard',
        failurePolicy: 'Fail',
        caBundle: true,
        injected: true,
        target: 'Service machineconfig-guard/machineconfig-guard:443',
      },
    ],
    floor: [],
    mode: 'Enforce',
    tried: {
      config: expect.stringMatching(/^rendered-/),
      kind: 'Node',
      name: expect.any(String),
      field: 'currentConfig',
    },
    answer: { status: 403, message: expect.stringContaining('MCG_IN_USE') },
    unused: { config: expect.any(String), wouldBeDeleted: true, message: '' },
  });
});

test.each(['Warn', 'Audit', 'Disabled'])('mode %s: not protected, and how to change that', async (mode) => {
  await installed.cluster.admin.patch(PATHS.guard, { spec: { mode } });
  await pause(EFFECT_MS);

  const { exitCode, stdout } = await verify();

  expect(exitCode).toBe(1);
  expect(stdout).toContain(`NOT PROTECTED: it would be deleted: the mode is ${mode}.`);
  expect(stdout).toContain('Do: oc patch mcguard cluster');
  await installed.cluster.admin.patch(PATHS.guard, { spec: { mode: 'Enforce' } });
  await pause(EFFECT_MS);
});

test('no rights: exit code 3, and which one is missing', async () => {
  const file = join(installed.controlPlane.directory, 'nobody.kubeconfig');
  const { url } = installed.controlPlane.apiServer;
  await writeFile(file, kubeconfig(url, installed.controlPlane.caCertificate, { token: 'nobody' }));

  const { exitCode, stdout, stderr } = await verify(file);

  expect({ exitCode, stdout }).toEqual({ exitCode: 3, stdout: '' });
  expect(stderr).toMatch(/^machineconfig-guard: the API server at \S+ does not accept the credentials[^\n]+\n$/);
});

test('no pods, failing closed: refused, but by nobody who decides', async () => {
  const { admin } = installed.cluster;
  await admin.patch('/apis/apps/v1/namespaces/machineconfig-guard/deployments/machineconfig-guard', {
    spec: { replicas: 0 },
  });
  await installed.kubelet.settled();

  const { exitCode, stdout } = await verify();

  expect(exitCode).toBe(1);
  expect(stdout).toContain(
    "NOT PROTECTED: deletions are refused, but not by the guard's decision: no pod of the guard is ready.",
  );
});

test('no pods, failing open: not protected', async () => {
  const { admin } = installed.cluster;
  const [webhook] = ((await admin.find(WEBHOOK)) as unknown as { webhooks: object[] }).webhooks;
  await admin.patch(WEBHOOK, { webhooks: [{ ...webhook, failurePolicy: 'Ignore' }] });
  await pause(EFFECT_MS);

  const { exitCode, stdout } = await verify();

  expect(exitCode).toBe(1);
  expect(stdout).toContain(
    'NOT PROTECTED: it would be deleted: the API server could not ask the guard, and its failurePolicy is Ignore.',
  );
  expect(await installed.cluster.exists(used)).toBe(true);
});

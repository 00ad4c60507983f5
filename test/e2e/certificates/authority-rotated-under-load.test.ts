import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { pause, until } from '../control-plane/until.ts';
import { deniedInUse, InstalledCluster } from '../support/installed-cluster.ts';
import { kubectlOk } from '../support/kubectl.ts';
import { program } from '../support/program.ts';
import { runBinaries } from '../support/run-binaries.ts';
import { SteadyDeletes } from '../support/steady-deletes.ts';

const ROTATIONS = 20;
/** Far below what the command advises: an API server that is well sees a changed bundle within milliseconds. */
const TRUST_MS = 1_000;
/** Within which an exchanged Secret is in use. */
const ISSUED_MS = 2_000;

let installed: InstalledCluster;
let rendered: string;
let steps: string;

beforeAll(async () => {
  installed = await InstalledCluster.start(await runBinaries());
  const { directory } = installed.controlPlane;
  [rendered, steps] = [join(directory, 'rendered'), join(directory, 'steps')];
  await program('render', '--out', rendered, '--image', 'machineconfig-guard:latest', '--kubernetes-version', '1.31');
  await kubectlOk(installed.controlPlane, ['apply', '--filename', rendered]);
  await installed.awaitGuard();
}, 120_000);

afterAll(() => installed.stop());

async function render(): Promise<readonly [first: string, second: string, third: string]> {
  await rm(steps, { recursive: true, force: true });
  await program('certs', 'rotate', '--out', steps, '--kubeconfig', installed.controlPlane.apiServer.kubeconfig);
  return [join(steps, '1-trust-both.yaml'), join(steps, '2-issue-from-new.yaml'), join(steps, '3-trust-new.yaml')];
}

async function apply(file: string, waitMs: number): Promise<void> {
  await kubectlOk(installed.controlPlane, ['apply', '--filename', file]);
  await pause(waitMs);
}

/** How often the replicas issued a certificate because the authority had changed. */
async function exchanges(): Promise<readonly number[]> {
  const logs = await Promise.all(installed.kubelet.pods.map(({ log }) => readFile(log, 'utf8')));
  return logs.map((log) => log.split('serving certificate issued: the authority was exchanged').length - 1);
}

test(`${ROTATIONS} exchanges of the authority by its three steps under steady deletions: not one call fails`, async () => {
  const load = SteadyDeletes.start(installed.cluster);
  await load.more(50);

  for (let rotation = 0; rotation < ROTATIONS; rotation += 1) {
    const [trustBoth, issueFromNew, trustNew] = await render();
    await apply(trustBoth, TRUST_MS);
    await apply(issueFromNew, 0);
    // As the advice is to wait for 30 seconds, this is only to save them: as soon as both have exchanged it.
    await expect.poll(exchanges, { timeout: 30_000 }).toEqual([rotation + 1, rotation + 1]);
    await apply(trustNew, 0);
    await load.more(20);
  }
  await load.stop();

  expect(load.faults).toEqual([]);
  expect(load.asked.length).toBeGreaterThan(20 * ROTATIONS);
  expect(await exchanges()).toEqual([ROTATIONS, ROTATIONS]);
  expect(installed.kubelet.history).toHaveLength(2);
}, 600_000);

test('without the overlap calls do fail: the load would have noticed', async () => {
  const [, issueFromNew, trustNew] = await render();
  const load = SteadyDeletes.start(installed.cluster);
  await load.more(50);

  await apply(trustNew, TRUST_MS);
  await load.more(10);
  await apply(issueFromNew, ISSUED_MS);
  await load.stop();

  expect(load.faults.some(({ message }) => message.includes('x509: certificate signed by unknown authority'))).toBe(
    true,
  );
  expect(load.faults.filter(({ came }) => came === 'wrong')).toEqual([]);
}, 60_000);

test('the original manifests applied again in the middle of a rotation: right again within two seconds', async () => {
  const config = await installed.cluster.config();
  await installed.cluster.node({ currentConfig: config });
  const [trustBoth, issueFromNew] = await render();
  await apply(trustBoth, TRUST_MS);
  await apply(issueFromNew, ISSUED_MS);
  expect(deniedInUse(await installed.dryRun(config))).toBe(true);

  await kubectlOk(installed.controlPlane, ['apply', '--filename', rendered]);

  // Twice what is promised: the machine that runs the tests may be busy.
  await until('the guard to be trusted again', async () => deniedInUse(await installed.dryRun(config)), {
    timeoutMs: 2 * ISSUED_MS,
  });
  // And it stays so.
  await pause(ISSUED_MS);
  expect(deniedInUse(await installed.dryRun(config))).toBe(true);
}, 60_000);

test('without its Secret, and with garbage in it, the guard serves on', async () => {
  const config = await installed.cluster.config();
  await installed.cluster.node({ currentConfig: config });
  const secret = '/api/v1/namespaces/machineconfig-guard/secrets/machineconfig-guard-ca';

  await installed.cluster.admin.patch(secret, { data: { 'ca.key': 'Z2FyYmFnZQ==' } });
  await pause(ISSUED_MS);
  expect(deniedInUse(await installed.dryRun(config))).toBe(true);
  await installed.cluster.admin.delete(secret);
  await pause(ISSUED_MS);
  expect(deniedInUse(await installed.dryRun(config))).toBe(true);

  for (const { log } of installed.kubelet.pods) {
    const text = await readFile(log, 'utf8');
    expect(text.split('cannot be used: the private key cannot be read as PEM').length - 1).toBe(1);
    expect(text).toContain('cannot be used: the API server answered 404 NotFound');
    expect(text).not.toMatch(/PRIVATE KEY|Z2FyYmFnZQ/);
  }
}, 60_000);

import { rm } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { pause, until } from '../control-plane/until.ts';
import { GUARD_IMAGE } from '../node/images.ts';
import { sharedInstalledNodeCluster, sharedNodeCluster } from '../node/shared-node-cluster.ts';
import { isDeniedInUse } from '../support/cluster.ts';
import { kubectlOk } from '../support/kubectl.ts';
import { probeDuring } from '../support/prober.ts';
import { runProgram } from '../support/program.ts';
import { IS_LONG } from '../support/run-binaries.ts';

const ROTATIONS = IS_LONG ? 20 : 1;
const SECRET = '/api/v1/namespaces/machineconfig-guard/secrets/machineconfig-guard-ca';
/** An API server without problems uses a new caBundle within milliseconds. */
const TRUST_MS = 1_000;
/** Within this time the guard uses a new Secret. */
const ISSUE_MS = 2_000;

const rendered = await sharedNodeCluster();
const { cluster, controlPlane, replicas: pods } = rendered;
const installation = join(controlPlane.directory, 'installation');
const steps = join(controlPlane.directory, 'steps');
const flags = ['--image', GUARD_IMAGE, '--kubernetes-version', '1.31'];
await runProgram('render', '--out', installation, ...flags);
await apply(installation);
await rendered.awaitGuard();
const config = await cluster.config();
await cluster.node({ currentConfig: config });

async function apply(file: string): Promise<void> {
  await kubectlOk(controlPlane, ['apply', '--filename', file]);
}

/** Renders the files of a rotation and applies the first two. */
async function startRotation(): Promise<void> {
  await rm(steps, { recursive: true, force: true });
  const { kubeconfig } = controlPlane.apiServer;
  await runProgram('certs', 'rotate', '--out', steps, '--kubeconfig', kubeconfig);
  await apply(join(steps, '1-trust-both.yaml'));
  await pause(TRUST_MS);
  await apply(join(steps, '2-issue-from-new.yaml'));
}

/** For each replica, how often its log contains a text. */
async function countInLogs(text: string): Promise<readonly number[]> {
  return (await pods.readLogs()).map((log) => log.split(text).length - 1);
}

/** The containers so far. */
async function listContainers(): Promise<readonly string[]> {
  const statuses = (await pods.list()).flatMap(({ status }) => status.containerStatuses ?? []);
  return statuses.map(({ containerID }) => containerID).toSorted();
}

async function isProtected(): Promise<boolean> {
  return isDeniedInUse(await cluster.dryRun(config));
}

test(`no call fails and no pod restarts during ${ROTATIONS} rotations of the authority`, async () => {
  const containers = await listContainers();
  const { faults } = await probeDuring(cluster.connection.admin, async (prober) => {
    for (let rotation = 1; rotation <= ROTATIONS; rotation += 1) {
      await startRotation();
      const text = 'serving certificate issued: the authority was rotated';
      const count = () => countInLogs(text);
      await expect.poll(count, { timeout: 30_000 }).toEqual([rotation, rotation]);
      await apply(join(steps, '3-trust-new.yaml'));
      await prober.awaitMore(20);
    }
  });

  expect(faults).toEqual([]);
  expect(await listContainers()).toEqual(containers);
}, 600_000);

test('the original manifests, applied during a rotation, are in effect within 2 s', async () => {
  await startRotation();
  await pause(ISSUE_MS);
  expect(await isProtected()).toBe(true);

  await apply(installation);

  // Twice the promised time, for a busy machine.
  await until('the API server to trust the guard', isProtected, { timeoutMs: 2 * ISSUE_MS });
  await pause(ISSUE_MS);
  expect(await isProtected()).toBe(true);
}, 60_000);

test('the guard goes on without its Secret and with an unreadable one, and logs no key', async () => {
  const { admin } = cluster;
  await admin.patch(SECRET, { data: { 'ca.key': 'Z2FyYmFnZQ==' } });
  await pause(ISSUE_MS);
  expect(await isProtected()).toBe(true);
  await admin.delete(SECRET);
  await pause(ISSUE_MS);
  expect(await isProtected()).toBe(true);

  const count = countInLogs;
  expect(await count('cannot be used: the private key cannot be read as PEM')).toEqual([1, 1]);
  expect(await count('cannot be used: it does not exist')).toEqual([1, 1]);
  expect(await count('PRIVATE KEY')).toEqual([0, 0]);
  expect(await count('Z2FyYmFnZQ')).toEqual([0, 0]);
}, 60_000);

test('no call fails and no pod restarts when the service CA rotates', async () => {
  const { serviceCa } = await sharedInstalledNodeCluster();
  const count = () => countInLogs('"fingerprint256"');
  const [before, containers] = [await count(), await listContainers()];

  const { faults } = await probeDuring(cluster.connection.admin, async (prober) => {
    await serviceCa.rotate();
    await expect.poll(count, { timeout: 15_000 }).toEqual(before.map((times) => times + 1));
    await prober.awaitMore(50);
  });

  expect(faults).toEqual([]);
  expect(await listContainers()).toEqual(containers);
}, 120_000);

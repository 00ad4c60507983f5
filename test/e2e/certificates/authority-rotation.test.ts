import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, expect, test } from 'vitest';

import { pause, until } from '../control-plane/until.ts';
import { isDeniedInUse } from '../support/cluster.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { kubectlOk } from '../support/kubectl.ts';
import { probeDuring } from '../support/prober.ts';
import { runProgram } from '../support/program.ts';
import { awaitReferenceGuard } from '../support/reference-guard.ts';
import { IS_LONG } from '../support/run-binaries.ts';
import { sharedInstalledCluster } from '../support/shared-clusters.ts';

const ROTATIONS = IS_LONG ? 20 : 1;
const SECRET = '/api/v1/namespaces/machineconfig-guard/secrets/machineconfig-guard-ca';
/** An API server without problems uses a new caBundle within milliseconds. */
const TRUST_MS = 1_000;
/** Within this time the guard uses a new Secret. */
const ISSUE_MS = 2_000;

const shared = await sharedInstalledCluster();
const rendered = await InstalledCluster.start();
const { cluster, controlPlane, kubelet } = rendered;
const installation = join(controlPlane.directory, 'installation');
const steps = join(controlPlane.directory, 'steps');
const flags = ['--image', 'guard:1', '--kubernetes-version', '1.31', '--reference-guard'];
await runProgram('render', '--out', installation, ...flags);
await apply(installation);
await rendered.awaitGuard();
const config = await cluster.config();
await cluster.node({ currentConfig: config });

afterAll(() => rendered.stop());

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
async function countInLogs(cluster: InstalledCluster, text: string): Promise<readonly number[]> {
  const logs = await Promise.all(cluster.kubelet.pods.map(({ log }) => readFile(log, 'utf8')));
  return logs.map((log) => log.split(text).length - 1);
}

async function isProtected(): Promise<boolean> {
  return isDeniedInUse(await cluster.dryRun(config));
}

test(`no call fails and no pod restarts during ${ROTATIONS} rotations of the authority`, async () => {
  const { faults } = await probeDuring(cluster.connection.admin, async (prober) => {
    for (let rotation = 1; rotation <= ROTATIONS; rotation += 1) {
      await startRotation();
      const text = 'serving certificate issued: the authority was rotated';
      const count = () => countInLogs(rendered, text);
      await expect.poll(count, { timeout: 30_000 }).toEqual([rotation, rotation]);
      await apply(join(steps, '3-trust-new.yaml'));
      await prober.awaitMore(20);
      await awaitReferenceGuard(cluster);
    }
  });

  expect(faults).toEqual([]);
  expect(kubelet.history).toHaveLength(2);
}, 600_000);

test('no call fails and no pod restarts when the service CA rotates', async () => {
  const count = () => countInLogs(shared, '"fingerprint256"');
  const [before, pods] = [await count(), shared.kubelet.history.length];

  const { faults } = await probeDuring(shared.cluster.connection.admin, async (prober) => {
    await shared.serviceCa.rotate();
    await expect.poll(count, { timeout: 15_000 }).toEqual(before.map((times) => times + 1));
    await prober.awaitMore(50);
  });

  expect(faults).toEqual([]);
  expect(shared.kubelet.history).toHaveLength(pods);
}, 120_000);

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

  const count = (text: string) => countInLogs(rendered, text);
  expect(await count('cannot be used: the private key cannot be read as PEM')).toEqual([1, 1]);
  expect(await count('cannot be used: it does not exist')).toEqual([1, 1]);
  expect(await count('PRIVATE KEY')).toEqual([0, 0]);
  expect(await count('Z2FyYmFnZQ')).toEqual([0, 0]);
}, 60_000);

import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { afterEach, expect, test } from 'vitest';

import { ControlPlane } from '../control-plane/control-plane.ts';
import type { KubeClient, KubeObject } from '../control-plane/kube-client.ts';
import { pause } from '../control-plane/until.ts';
import { InstalledCluster, readSet } from '../support/installed-cluster.ts';
import { runBinaries } from '../support/run-binaries.ts';

const PROGRAM = fileURLToPath(new URL('../../../dist/machineconfig-guard.cjs', import.meta.url));
const IMAGE = `registry.example.com/machineconfig-guard@sha256:${'a'.repeat(64)}`;
const RETRY_MS = 200;
/** Of the 20 minutes after which an install would be given up. */
const CONVERGED_MS = 30_000;

let undo: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const step of undo.toReversed()) await step();
  undo = [];
});

async function render(...args: string[]): Promise<ReadonlyMap<string, KubeObject>> {
  const directory = await mkdtemp(join(tmpdir(), 'mcg-openshift-'));
  undo.push(() => rm(directory, { recursive: true }));
  const all = ['render', '--out', directory, '--image', IMAGE, '--kubernetes-version', '1.31', ...args];
  await promisify(execFile)(process.execPath, [PROGRAM, ...all]);
  return readSet(directory);
}

/**
 * As OpenShift's bootstrap does it (library-go, pkg/assets/create): looks whether each object is there, creates it if not, never
 * updates, keeps what failed, and tries again with a fresh look at what the API server serves. Answers the rounds it took.
 */
async function createAll(admin: KubeClient, objects: readonly KubeObject[]): Promise<number> {
  const deadline = Date.now() + CONVERGED_MS;
  let left = objects;
  for (let round = 1; ; round += 1) {
    const failures: { object: KubeObject; why: unknown }[] = [];
    for (const object of left)
      await createIfAbsent(admin, object).catch((why: unknown) => failures.push({ object, why }));
    if (failures.length === 0) return round;
    if (Date.now() > deadline) throw new Error(`Never applied: ${failures.map(({ why }) => String(why)).join('\n')}`);
    left = failures.map(({ object }) => object);
    await pause(RETRY_MS);
  }
}

async function createIfAbsent(admin: KubeClient, object: KubeObject): Promise<void> {
  const collection = await collectionOf(admin, object);
  if ((await admin.find(`${collection}/${object.metadata.name}`)) === undefined) await admin.create(collection, object);
}

interface Resources {
  readonly resources: readonly { readonly kind: string; readonly name: string; readonly namespaced: boolean }[];
}

async function collectionOf(admin: KubeClient, { apiVersion, kind, metadata }: KubeObject): Promise<string> {
  const root = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
  const served = ((await admin.find(root)) as Resources | undefined)?.resources ?? [];
  const resource = served.find((one) => one.kind === kind && !one.name.includes('/'));
  if (resource === undefined) throw new Error(`no matches for kind "${kind}" in version "${apiVersion}"`);
  return `${root}${resource.namespaced ? `/namespaces/${metadata.namespace}` : ''}/${resource.name}`;
}

const PROFILES = [
  ['the default', []],
  ['everything', ['--profile', 'fail-open-with-floor', '--host-network', '--single-node', '--mode', 'Audit']],
  ["the service CA's certificates", ['--tls', 'service-ca', '--mode', 'Enforce']],
] as const;

const ORDERS = [
  ['as their names sort', (objects: readonly KubeObject[]) => objects],
  ['the other way round', (objects: readonly KubeObject[]) => objects.toReversed()],
] as const;

test.each(PROFILES.flatMap(([profile, args]) => ORDERS.map(([order, sorted]) => ({ profile, args, order, sorted }))))(
  '$profile, $order: all of it is created on an API server without OpenShift',
  async ({ args, sorted }) => {
    const set = await render(...args);
    const controlPlane = await ControlPlane.start(await runBinaries(), { openshift: false });
    undo.push(() => controlPlane.stop());

    await createAll(controlPlane.apiServer.admin, sorted([...set.values()]));

    // Nothing is left to do, and nothing was updated.
    expect(await createAll(controlPlane.apiServer.admin, [...set.values()])).toBe(1);
  },
);

test('an object that never fits is found out: the stand-in does not overlook failures', async () => {
  const controlPlane = await ControlPlane.start(await runBinaries(), { openshift: false });
  undo.push(() => controlPlane.stop());
  const { admin } = controlPlane.apiServer;
  const stranger = { apiVersion: 'monitoring.coreos.com/v1', kind: 'ServiceMonitor', metadata: { name: 'guard' } };

  await expect(createIfAbsent(admin, stranger)).rejects.toThrow('no matches for kind "ServiceMonitor"');
});

test('applied before there is anything to guard, it guards as soon as there is', async () => {
  const set = await render();
  const installed = await InstalledCluster.start(await runBinaries(), { openshift: false });
  undo.push(() => installed.stop());
  await createAll(installed.controlPlane.apiServer.admin, [...set.values()]);
  // The guard runs and is ready while no kind of OpenShift's is served yet.
  await installed.kubelet.settled();

  await installed.controlPlane.installOpenShift();

  await installed.awaitGuard();
  const { cluster } = installed;
  const used = await cluster.config();
  await cluster.pool({ spec: used });
  expect((await cluster.delete(used)).status).toBe(403);
  const free = await cluster.config();
  expect((await cluster.delete(free)).status).toBe(200);
});

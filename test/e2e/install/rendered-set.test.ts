import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, expect, test } from 'vitest';
import { parse } from 'yaml';

import type { KubeClient, KubeObject } from '../control-plane/kube-client.ts';
import { pause } from '../control-plane/until.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { runProgram } from '../support/program.ts';

const IMAGE = `registry.example.com/machineconfig-guard@sha256:${'a'.repeat(64)}`;
const RETRY_MS = 200;
/** The installer gives up after 20 minutes. */
const TIMEOUT_MS = 30_000;

const installed = await InstalledCluster.start({ openshift: false });
const { controlPlane, kubelet } = installed;

afterAll(() => installed.stop());

/** Renders a set and returns its objects in the order of the files. */
async function render(...args: readonly string[]): Promise<readonly KubeObject[]> {
  const directory = join(controlPlane.directory, 'rendered');
  await runProgram('render', '--force', '--out', directory, '--image', IMAGE, '--kubernetes-version', '1.31', ...args);
  const files = (await readdir(directory)).filter((name) => name.endsWith('.yaml')).sort();
  const texts = await Promise.all(files.map((name) => readFile(join(directory, name), 'utf8')));
  return texts.map((text) => parse(text) as KubeObject);
}

/**
 * Creates objects as OpenShift's bootstrap does (library-go, pkg/assets/create): it creates what does not exist, never
 * updates, and retries what failed.
 */
async function createAll(admin: KubeClient, objects: readonly KubeObject[]): Promise<void> {
  const deadline = Date.now() + TIMEOUT_MS;
  let remaining = objects;
  for (;;) {
    const failures: { object: KubeObject; error: unknown }[] = [];
    for (const object of remaining) {
      await createIfAbsent(admin, object).catch((error: unknown) => failures.push({ object, error }));
    }
    if (failures.length === 0) return;
    if (Date.now() > deadline) throw new Error(failures.map(({ error }) => String(error)).join('\n'));
    remaining = failures.map(({ object }) => object);
    await pause(RETRY_MS);
  }
}

async function createIfAbsent(admin: KubeClient, object: KubeObject): Promise<void> {
  const collection = await findCollection(admin, object);
  if ((await admin.find(`${collection}/${object.metadata.name}`)) === undefined) await admin.create(collection, object);
}

interface ResourceList {
  readonly resources: readonly { readonly kind: string; readonly name: string; readonly namespaced: boolean }[];
}

async function findCollection(admin: KubeClient, { apiVersion, kind, metadata }: KubeObject): Promise<string> {
  const root = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
  const served = ((await admin.find(root)) as ResourceList | undefined)?.resources ?? [];
  const resource = served.find((one) => one.kind === kind && !one.name.includes('/'));
  if (resource === undefined) throw new Error(`no matches for kind "${kind}" in version "${apiVersion}"`);
  return `${root}${resource.namespaced ? `/namespaces/${metadata.namespace}` : ''}/${resource.name}`;
}

test('the objects exist in any order before OpenShift does, and the guard protects as soon as it does', async () => {
  const set = await render('--mode', 'Enforce');
  await createAll(controlPlane.apiServer.admin, set.toReversed());
  await kubelet.awaitRollout();

  await controlPlane.installOpenShift();

  await installed.awaitGuard();
  const { cluster } = installed;
  const used = await cluster.config();
  await cluster.pool({ spec: used });
  await cluster.node();
  expect((await cluster.delete(used)).status).toBe(403);
  expect((await cluster.delete(await cluster.config())).status).toBe(200);
}, 120_000);

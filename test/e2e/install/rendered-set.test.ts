import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, expect, test } from 'vitest';

import { until } from '../control-plane/until.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { kubectl } from '../support/kubectl.ts';
import { runProgram } from '../support/program.ts';

const IMAGE = `registry.example.com/machineconfig-guard@sha256:${'a'.repeat(64)}`;
/** The installer gives up after 20 minutes. */
const TIMEOUT_MS = 30_000;

const installed = await InstalledCluster.start([], { openshift: false });
const { controlPlane, kubelet } = installed;

afterAll(() => installed.stop());

/** Renders a set and returns its files. */
async function render(...args: readonly string[]): Promise<readonly string[]> {
  const directory = join(controlPlane.directory, 'rendered');
  await runProgram('render', '--out', directory, '--image', IMAGE, '--kubernetes-version', '1.31', ...args);
  const names = (await readdir(directory)).filter((name) => name.endsWith('.yaml'));
  return names.sort().map((name) => join(directory, name));
}

/**
 * Creates objects as OpenShift's bootstrap does (library-go, pkg/assets/create): it creates what does not exist, never
 * updates, and retries what failed.
 */
async function createAll(files: readonly string[]): Promise<void> {
  let remaining = files;
  const createRemaining = async () => {
    const failed: string[] = [];
    for (const file of remaining) {
      const { exitCode, stderr } = await kubectl(controlPlane, ['create', '--filename', file]);
      if (exitCode !== 0 && !stderr.includes('AlreadyExists')) failed.push(file);
    }
    remaining = failed;
    return failed.length === 0;
  };
  await until(() => `the creation of ${remaining.join(', ')}`, createRemaining, { timeoutMs: TIMEOUT_MS });
}

test('the objects exist in any order before OpenShift does, and the guard protects as soon as it does', async () => {
  const files = await render('--mode', 'Enforce');
  await createAll(files.toReversed());
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

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

/**
 * Creates objects as OpenShift's bootstrap does (library-go, pkg/assets/create): it creates what does not
 * exist, never updates, and retries what failed.
 */
async function createAll(files: readonly string[]): Promise<void> {
  const remaining = new Set(files);
  const createRemaining = async () => {
    for (const file of remaining) {
      const { exitCode, stderr } = await kubectl(controlPlane, ['create', '--filename', file]);
      if (exitCode === 0 || stderr.includes('AlreadyExists')) remaining.delete(file);
    }
    return remaining.size === 0;
  };
  const describe = () => `the creation of ${[...remaining].join(', ')}`;
  await until(describe, createRemaining, { timeoutMs: TIMEOUT_MS });
}

test('the objects may exist before OpenShift does, in any order, and the guard protects then', async () => {
  const directory = join(controlPlane.directory, 'rendered');
  const flags = ['--image', IMAGE, '--kubernetes-version', '1.31', '--mode', 'Enforce'];
  await runProgram('render', '--out', directory, ...flags);
  const files = (await readdir(directory)).filter((name) => name.endsWith('.yaml')).sort();
  await createAll(files.toReversed().map((name) => join(directory, name)));
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

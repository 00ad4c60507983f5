import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, symlink } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { InstalledCluster } from '../support/installed-cluster.ts';
import { PATHS } from '../support/paths.ts';
import { runBinaries } from '../support/run-binaries.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const PAGE = readFileSync(join(ROOT, 'docs/operate.md'), 'utf8');
/** What only a node could answer: its logs. */
const NEEDS_A_KUBELET = / # no kubelet here$/;
const CONFIG = 'rendered-worker-a1a2c3d4e5f60718293a4b5c6d7e8f90';

let installed: InstalledCluster;
let env: Record<string, string>;

beforeAll(async () => {
  installed = await InstalledCluster.start(await runBinaries());
  await installed.applyOverlay('service-ca');
  await installed.awaitGuard();
  const { cluster, controlPlane } = installed;
  await cluster.config({ name: CONFIG });
  await cluster.config();
  await cluster.node({ name: 'worker-0', currentConfig: CONFIG, desiredConfig: CONFIG });
  await cluster.pool({ name: 'worker', spec: CONFIG, status: CONFIG });
  // Nothing but what the page tells of.
  await removeTheAwaited(cluster);
  const home = join(controlPlane.directory, 'home');
  const bin = join(home, 'bin');
  await mkdir(bin, { recursive: true });
  await symlink(join(ROOT, 'dist', 'machineconfig-guard.cjs'), join(bin, 'machineconfig-guard'));
  // Whatever the page does with oc, kubectl can do too.
  await symlink(controlPlane.kubectl, join(bin, 'oc'));
  const path = [bin, dirname(process.execPath), process.env['PATH']].join(delimiter);
  env = { PATH: path, HOME: home, KUBECONFIG: controlPlane.apiServer.kubeconfig };
}, 120_000);

afterAll(() => installed.stop());

/** The node by which it was seen that the guard answers is none that reports all that `check` looks for. */
async function removeTheAwaited({ admin }: InstalledCluster['cluster']): Promise<void> {
  for (const { metadata } of await admin.list(PATHS.nodes)) {
    if (metadata.name.startsWith('awaited')) await admin.delete(`${PATHS.nodes}/${metadata.name}`);
  }
}

test('every command of docs/operate.md does what it says, in its order', async () => {
  const commands = [...PAGE.matchAll(/^```sh\n(?<block>[\s\S]*?)^```$/gm)].flatMap(({ groups }) =>
    (groups?.['block'] ?? '').trimEnd().split('\n'),
  );
  expect(commands.length).toBeGreaterThan(15);
  expect(commands.filter((line) => NEEDS_A_KUBELET.test(line))).toHaveLength(1);
  for (const line of commands.filter((one) => !NEEDS_A_KUBELET.test(one))) {
    const { status, stderr, stdout } = spawnSync('bash', ['-c', line], { cwd: ROOT, env, encoding: 'utf8' });
    expect([line, status, status === 0 ? '' : stderr + stdout]).toEqual([line, 0, '']);
  }
  // Each step was undone: the config is protected as before.
  await installed.awaitGuard();
  expect((await installed.dryRun(CONFIG)).status).toBe(403);
}, 120_000);

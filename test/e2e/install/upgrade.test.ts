import { expect, test } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { runProgram } from '../../cli/run-program.ts';
import type { GuardPod } from '../node/guard-pods.ts';
import { GUARD_ALIASES, GUARD_IMAGE } from '../node/images.ts';
import { sharedNodeCluster } from '../node/shared-node-cluster.ts';
import { readAuthority } from '../support/guard-processes.ts';
import { kubectlOk } from '../support/kubectl.ts';
import { listLeftovers } from '../support/overlays.ts';
import { extendTimeout, probeCalls } from '../support/prober.ts';

const installed = await sharedNodeCluster();
const { cluster, controlPlane, replicas: pods } = installed;
const { admin } = cluster;
/** The same image under another name. */
const [PREVIOUS_IMAGE = ''] = GUARD_ALIASES;

/** Runs a command of this version. Returns its output. */
async function run(...args: readonly string[]) {
  const flags = ['--kubeconfig', controlPlane.apiServer.kubeconfig];
  const { exitCode, stdout, stderr } = await runProgram([...args, ...flags]);
  expect({ exitCode, stderr: exitCode === 0 ? '' : stderr }).toEqual({ exitCode: 0, stderr: '' });
  return { stdout, notes: stderr.replaceAll('machineconfig-guard: ', '').trimEnd().split('\n') };
}

async function apply(manifests: string): Promise<void> {
  await kubectlOk(controlPlane, ['apply', '--filename=-'], extendTimeout(manifests));
  await pods.awaitRollout();
}

/** The upgrade of a user who has forgotten every flag. Returns what `render` says about them. */
async function applyRendering(...flags: readonly string[]): Promise<readonly string[]> {
  const { stdout, notes } = await run('render', '--from-cluster', '--image', GUARD_IMAGE, '--out', '-', ...flags);
  await apply(stdout);
  return notes.filter((note) => note.startsWith('--'));
}

/** Renders this version, which becomes an older one with another image. */
async function installPrevious(flags: readonly string[]): Promise<void> {
  const target = ['--image', PREVIOUS_IMAGE, '--openshift-version', '4.20', '--out', '-'];
  const { stdout } = await run('render', ...target, ...flags);
  const label = 'app.kubernetes.io/version: ';
  expect(stdout).toContain(label + packageJson.version);
  await apply(stdout.replaceAll(label + packageJson.version, `${label}0.0.9`));
  await cluster.awaitGuardCalls();
}

async function listImages(): Promise<readonly string[]> {
  const imageOf = ({ spec }: GuardPod) => spec.containers[0]?.image ?? '';
  return [...new Set((await pods.list()).map(imageOf))];
}

/** The flags of the first rendering, and what the second one says about them. */
const UPGRADES: readonly (readonly [readonly string[], readonly string[]])[] = [
  [[], []],
  // Its ports are free on a node only after the old pod has ended.
  [
    ['--tls=service-ca', '--host-network'],
    ['--tls: was service-ca, is kept', '--host-network: was set, is kept'],
  ],
];

test.each(UPGRADES)('with %j, no call fails during an upgrade, and uninstall removes it', async (flags, notes) => {
  await installPrevious(flags);
  const before = await listImages();

  const failedCalls = await probeCalls(cluster, async (prober) => {
    expect(await applyRendering()).toEqual(notes);
    await prober.awaitMore(50);
  });

  expect(failedCalls).toEqual([]);
  expect([before, await listImages()]).toEqual([[PREVIOUS_IMAGE], [GUARD_IMAGE]]);
  const { stdout } = await run('uninstall', '--confirm');
  expect(stdout).toMatch(/^Uninstalled\. Nothing denies the deletion of rendered-\S+ \(dry run\)\.$/m);
  expect(await listLeftovers(controlPlane)).toEqual([]);
});

test('no call fails and no pod restarts during a rotation of the authority', async () => {
  await installPrevious([]);
  await applyRendering();
  const listContainers = async () =>
    (await pods.list()).map(({ status }) => status.containerStatuses?.[0]?.containerID);
  const countAuthorities = async () => (await readAuthority(admin)).split('BEGIN CERTIFICATE').length - 1;
  const containers = await listContainers();

  const failedCalls = await probeCalls(cluster, async (prober) => {
    await applyRendering('--new-authority');
    expect(await countAuthorities()).toBe(2);
    const rotated = 'serving certificate issued: the authority was rotated';
    await expect.poll(async () => (await pods.readLogs()).every((log) => log.includes(rotated))).toBe(true);
    await applyRendering();
    expect(await countAuthorities()).toBe(1);
    await prober.awaitRightAnswers(3);
  });

  expect(failedCalls).toEqual([]);
  expect(await listContainers()).toEqual(containers);
});

import { expect, test } from 'vitest';

import type { GuardPod } from '../node/guard-pods.ts';
import { findPreviousImage, GUARD_IMAGE } from '../node/images.ts';
import { sharedNodeCluster } from '../node/shared-node-cluster.ts';
import { awaitGuardCalls } from '../support/cluster.ts';
import { buildDirectory, kubectlOk } from '../support/kubectl.ts';
import { overlay } from '../support/overlays.ts';
import { probeDuring } from '../support/prober.ts';
import { PROGRAM } from '../support/program.ts';
import { runProcess } from '../support/process.ts';
import { log } from '../support/runner.ts';
import { buildOldProfile, type OldProfile } from './old-profiles.ts';

const installed = await sharedNodeCluster();
const { cluster, controlPlane, replicas: pods } = installed;
const previous = await findPreviousImage(log);
await Promise.all(pods.cluster.nodes.map((node) => node.importImage(previous)));

/** Runs a command of this version. Returns its output. */
async function run(...args: readonly string[]) {
  const flags = ['--kubeconfig', controlPlane.apiServer.kubeconfig];
  const { exitCode, stdout, stderr } = await runProcess(process.execPath, [PROGRAM, ...args, ...flags]);
  expect({ exitCode, stderr: exitCode === 0 ? '' : stderr }).toEqual({ exitCode: 0, stderr: '' });
  return { stdout, notes: stderr.replaceAll('machineconfig-guard: ', '').trimEnd().split('\n') };
}

async function apply(manifests: string): Promise<void> {
  await kubectlOk(controlPlane, ['apply', '--filename=-'], manifests);
  await pods.awaitRollout();
}

/** The upgrade of a user who has forgotten every flag. Returns what `render` says about them. */
async function applyRendering(): Promise<readonly string[]> {
  const { stdout, notes } = await run('render', '--from-cluster', '--image', GUARD_IMAGE, '--out', '-');
  await apply(stdout);
  return notes.filter((note) => note.startsWith('--'));
}

async function applyOverlay(name: string): Promise<void> {
  const objects = await buildDirectory(controlPlane, overlay(name));
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
  await apply(list.replace('"image":"machineconfig-guard"', `"image":"${GUARD_IMAGE}"`));
}

async function installOld(profile: OldProfile): Promise<void> {
  await apply(await buildOldProfile(controlPlane, profile, previous.name));
  await awaitGuardCalls(cluster.admin);
}

/** The images that run. */
async function listImages(): Promise<readonly string[]> {
  const imageOf = ({ status }: GuardPod) => status.containerStatuses?.[0]?.imageID ?? '';
  return [...new Set((await pods.list()).map(imageOf))];
}

// The NetworkPolicy of 0.1.0 admitted all addresses.
const OPEN_NETWORK = '--open-network: was set, is kept';

test.each<[OldProfile, readonly string[]]>([
  ['generated', [OPEN_NETWORK]],
  // Its ports are free on a node only after the old pod has ended.
  ['host-network', ['--tls: was service-ca, is kept', '--host-network: was set, is kept', OPEN_NETWORK]],
])(
  'from %s of stored manifests, no call fails during upgrades by render and by the overlay, one over the other',
  async (profile, notes) => {
    await installOld(profile);
    const before = await listImages();
    let kept: readonly string[] = [];

    const { errors, faults } = await probeDuring(cluster.connection.admin, async (prober) => {
      kept = await applyRendering();
      await prober.awaitMore(50);
      if (profile !== 'generated') {
        await applyOverlay(profile);
        await prober.awaitMore(50);
      }
    });

    expect([errors, faults]).toEqual([[], []]);
    expect(kept).toEqual(notes);
    const after = await listImages();
    expect([before.length, after.length]).toEqual([1, 1]);
    expect(after).not.toEqual(before);

    const { stdout } = await run('uninstall', '--confirm');
    expect(stdout).toMatch(/^Nothing denies the deletion of rendered-\S+ \(dry run\)\.$/m);
    const left = await kubectlOk(controlPlane, ['get', 'namespaces,clusterroles,crds', '--output=name']);
    expect(left).not.toContain('machineconfig-guard');
  },
  300_000,
);

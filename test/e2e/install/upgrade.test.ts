import { expect, test } from 'vitest';

import { runProgram } from '../../cli/run-program.ts';
import type { GuardPod } from '../node/guard-pods.ts';
import { findPreviousImage, GUARD_IMAGE } from '../node/images.ts';
import { sharedNodeCluster } from '../node/shared-node-cluster.ts';
import { awaitFloor } from '../support/floor.ts';
import { buildDirectory, kubectlOk } from '../support/kubectl.ts';
import { listLeftovers, overlay } from '../support/overlays.ts';
import { probeDuring } from '../support/prober.ts';
import { IS_LONG, log } from '../support/runner.ts';
import { buildOldProfile, type OldProfile } from './old-profiles.ts';

const installed = await sharedNodeCluster();
const { cluster, controlPlane, replicas: pods } = installed;
const previous = await findPreviousImage(log);
await Promise.all(pods.cluster.nodes.map((node) => node.importImage(previous)));

/** Runs a command of this version. Returns its output. */
async function run(...args: readonly string[]) {
  const flags = ['--kubeconfig', controlPlane.apiServer.kubeconfig];
  const { exitCode, stdout, stderr } = await runProgram([...args, ...flags]);
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
  await (profile === 'fail-open-with-floor' ? awaitFloor(cluster) : cluster.awaitGuardCalls());
}

/** The images that run. */
async function listImages(): Promise<readonly string[]> {
  const imageOf = ({ status }: GuardPod) => status.containerStatuses?.[0]?.imageID ?? '';
  return [...new Set((await pods.list()).map(imageOf))];
}

/** The floor answers before the guard. */
const FLOOR_DENIAL = /ValidatingAdmissionPolicy '\w+\.machineconfig-guard\.io'.* denied request: MCG_IN_USE/s;
// The NetworkPolicy of 0.1.0 admitted all addresses.
const OPEN_NETWORK = '--open-network: was set, is kept';
const SERVICE_CA = '--tls: was service-ca, is kept';

const UPGRADES: readonly (readonly [OldProfile, string, readonly string[]])[] = [
  ['generated', '', [OPEN_NETWORK]],
  // Its ports are free on a node only after the old pod has ended.
  ['host-network', 'host-network', [SERVICE_CA, '--host-network: was set, is kept', OPEN_NETWORK]],
  ['service-ca', 'service-ca', [SERVICE_CA, OPEN_NETWORK]],
  ['single-node', 'single-node', [SERVICE_CA, '--single-node: was set, is kept', OPEN_NETWORK]],
  [
    'fail-open-with-floor',
    'fail-open-with-floor',
    ['--profile: was fail-open-with-floor, is kept', SERVICE_CA, OPEN_NETWORK],
  ],
];

// The first two roll out differently. The others take a minute each.
test.each(IS_LONG ? UPGRADES : UPGRADES.slice(0, 2))(
  'from %s of stored manifests, no call fails during upgrades by render and by the overlay, one over the other',
  async (profile, overlayName, notes) => {
    await installOld(profile);
    const before = await listImages();
    const seen: (readonly string[])[] = [];

    const { probes, wrongAnswers, failedCalls } = await probeDuring(cluster.admin, async (prober) => {
      seen.push(await applyRendering());
      await prober.awaitMore(50);
      if (overlayName !== '') {
        await applyOverlay(overlayName);
        await prober.awaitMore(50);
        seen.push(await applyRendering());
        await prober.awaitMore(50);
      }
    });

    const isFloorDenial = ({ subject, message }: (typeof probes)[0]) =>
      subject !== 'unused' && FLOOR_DENIAL.test(message);
    const failed = failedCalls.filter((probe) => !isFloorDenial(probe));
    expect(wrongAnswers.filter((probe) => !isFloorDenial(probe))).toEqual([]);
    expect(failed).toEqual([]);
    // The overlay has the narrow NetworkPolicy.
    expect(seen).toEqual([notes, notes.filter((note) => note !== OPEN_NETWORK)].slice(0, seen.length));
    const after = await listImages();
    expect([before.length, after.length]).toEqual([1, 1]);
    expect(after).not.toEqual(before);

    const { stdout } = await run('uninstall', '--confirm');
    expect(stdout).toMatch(/^Nothing denies the deletion of rendered-\S+ \(dry run\)\.$/m);
    expect(await listLeftovers(controlPlane)).toEqual([]);
  },
);

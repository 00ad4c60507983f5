import { join } from 'node:path';

import { expect, test } from 'vitest';

import { GUARD_IMAGE } from '../node/images.ts';
import { sharedNodeCluster } from '../node/shared-node-cluster.ts';
import { kubectlOk } from '../support/kubectl.ts';
import { extendTimeout, probeCalls } from '../support/prober.ts';
import { runProgramOk } from '../support/programs.ts';
import { IS_LONG } from '../support/runner.ts';

const ROTATIONS = IS_LONG ? 20 : 1;
const ROTATED = 'serving certificate issued: the authority was rotated';

const rendered = await sharedNodeCluster();
const { cluster, controlPlane, replicas: pods } = rendered;
const installation = join(controlPlane.directory, 'installation');
const flags = ['--image', GUARD_IMAGE, '--openshift-version', '4.18'];
await runProgramOk('render', '--out', installation, ...flags);
await kubectlOk(controlPlane, ['apply', '--filename', installation]);
await rendered.awaitGuard();

/** Applies what `render --from-cluster` prints. Returns how many authorities the API servers then trust. */
async function upgrade(...extraFlags: readonly string[]): Promise<number> {
  const { kubeconfig } = controlPlane.apiServer;
  const from = ['--from-cluster', '--kubeconfig', kubeconfig];
  const manifests = await runProgramOk('render', '--out', '-', ...from, ...flags, ...extraFlags);
  await kubectlOk(controlPlane, ['apply', '--filename', '-'], extendTimeout(manifests));
  const path = '.webhooks[0].clientConfig.caBundle';
  const get = ['get', 'validatingwebhookconfiguration', 'machineconfig-guard', '-o', `jsonpath={${path}}`];
  const caBundle = Buffer.from(await kubectlOk(controlPlane, get), 'base64').toString('utf8');
  return caBundle.split('BEGIN CERTIFICATE').length - 1;
}

/** The containers so far. */
async function listContainers(): Promise<readonly string[]> {
  const statuses = (await pods.list()).flatMap(({ status }) => status.containerStatuses ?? []);
  return statuses.map(({ containerID }) => containerID).toSorted();
}

test(`no call fails and no pod restarts during ${ROTATIONS} rotations of the authority`, async () => {
  const containers = await listContainers();
  const failedCalls = await probeCalls(cluster, async (prober) => {
    for (let rotation = 1; rotation <= ROTATIONS; rotation += 1) {
      expect(await upgrade('--new-authority')).toBe(2);
      const count = async () => (await pods.readLogs()).map((log) => log.split(ROTATED).length - 1);
      await expect.poll(count).toEqual([rotation, rotation]);
      expect(await upgrade()).toBe(1);
      await prober.awaitRightAnswers(3);
    }
  });

  expect(failedCalls).toEqual([]);
  expect(await listContainers()).toEqual(containers);
});

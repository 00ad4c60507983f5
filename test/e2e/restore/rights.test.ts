import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { readConfigsFromNode } from '../../../src/cli/restore/read-sources.ts';
import { ClusterAccessError } from '../../../src/client/cluster-access.ts';
import { readClusterSnapshot } from '../../../src/client/cluster-reader.ts';
import { startExecServer } from '../../support/exec-server.ts';
import type { Rule } from '../control-plane/kube-client.ts';
import { buildDirectory, kubectlOk } from '../support/kubectl.ts';
import { MANIFESTS } from '../support/overlays.ts';
import { connectWith, withoutEachRight } from '../support/service-account.ts';
import { createDaemonPod, deleteDaemonPods } from './machines.ts';
import { createStuckInstall, installed, MASTERS, MISSING, restoreMissing } from './stuck-install.ts';

const { cluster, controlPlane } = installed;
const roles = await buildDirectory(controlPlane, join(MANIFESTS, 'overlays', 'restore-role'));
const { rules = [] } = roles.find(({ metadata }) => metadata.name === 'machineconfig-guard-restore') ?? {};
await createStuckInstall();
await cluster.admin.delete('/apis/certificates.k8s.io/v1/certificatesigningrequests');
await kubectlOk(controlPlane, ['create', '--filename', join(import.meta.dirname, 'certificate-request.yaml')]);

afterAll(async () => {
  await deleteDaemonPods(cluster);
  await installed.clear();
});

/** Expects what a user with these rights sees of a dry run: its steps and pending requests, or the missing right. */
async function expectPlan(granted: readonly Rule[], expected: unknown): Promise<void> {
  const api = await connectWith(controlPlane, granted);
  const plan = async (): Promise<unknown> => {
    try {
      const report = await restoreMissing(api, false);
      if (report.problem !== null) return report.problem;
      const steps = report.configs.flatMap((config) => config.steps.map(({ action }) => action));
      return { steps, requests: report.pendingCertificateRequests.length };
    } catch (error) {
      if (error instanceof ClusterAccessError) return (error.cause as Error).message.split(' in API group')[0];
      throw error;
    }
  };
  // RBAC takes a moment to see a new binding.
  await expect.poll(plan).toEqual(expected);
}

const STEPS = ['PausePool', 'CreateConfig', 'SetPoolStatus', 'AwaitMachines', 'UnpausePool', 'AwaitNodes'];
const COMPLETE = { steps: STEPS, requests: 1 };
/** Without these rights the command knows less. */
const OPTIONAL: Readonly<Record<string, unknown>> = {
  configmaps: { ...COMPLETE, steps: STEPS.filter((step) => step !== 'AwaitMachines') },
  certificatesigningrequests: { ...COMPLETE, requests: 0 },
  'machineconfigpools/finalizers': expect.stringContaining('blockOwnerDeletion'),
};

test('the rights of the role suffice', () => expectPlan(rules, COMPLETE));

test.each(withoutEachRight(rules))('the command needs its right to $verb $resource', async (right) => {
  const { verb, resource, rest } = right;
  const missing = expect.stringContaining(`cannot ${verb} resource "${resource}"`) as unknown;
  await expectPlan(rest, OPTIONAL[resource] ?? missing);
});

test('each right on the pod that reads a disk is needed', async () => {
  const kubelet = await startExecServer(() => ({ stdout: MISSING.text }));
  onTestFinished(() => kubelet.stop());
  const [node = ''] = MASTERS;
  await createDaemonPod(cluster, node, kubelet.port);
  const { rules: ofNode = [] } =
    roles.find(({ metadata }) => metadata.name === 'machineconfig-guard-restore-from-node') ?? {};
  const { signal } = new AbortController();
  const expectRead = async (granted: readonly Rule[], expected: unknown) => {
    const user = await connectWith(controlPlane, [...rules, ...granted]);
    const read = async () => {
      const snapshot = await readClusterSnapshot(user, undefined, signal);
      expect(snapshot.nodes.map(({ currentConfigWrite }) => currentConfigWrite?.at)).not.toContain(undefined);
      return readConfigsFromNode(node, { api: user, snapshot, name: undefined, isConfirmed: false, signal }).then(
        (configs) => configs.map(({ name }) => name).join(),
        (error: Error) => (error.cause instanceof Error ? error.cause : error).message,
      );
    };
    await expect.poll(read).toEqual(expected);
  };
  await expectRead(ofNode, MISSING.name);
  for (const { verb, resource, rest } of withoutEachRight(ofNode)) {
    // This API server asks for the verb get of an exec. From Kubernetes 1.35 on, it is create.
    if (verb !== 'create') await expectRead(rest, expect.stringContaining(`cannot ${verb} resource "${resource}"`));
  }
});

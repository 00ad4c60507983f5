import { join } from 'node:path';

import { expect, onTestFinished, test } from 'vitest';

import { readConfigsFromNode } from '../../../src/cli/restore/read-sources.ts';
import { ClusterAccessError } from '../../../src/client/cluster-access.ts';
import { readClusterSnapshot } from '../../../src/client/cluster-reader.ts';
import { ExecServer } from '../../support/exec-server.ts';
import type { Rule } from '../control-plane/kube-client.ts';
import { requestCertificate } from '../inspect/incident-b.ts';
import { unique } from '../support/cluster.ts';
import { buildDirectory } from '../support/kubectl.ts';
import { MANIFESTS } from '../support/overlays.ts';
import { createServiceAccount } from '../support/service-account.ts';
import { createDaemonPod } from './machines.ts';
import { StuckCluster } from './stuck-cluster.ts';

const stuck = await StuckCluster.shared();
const { cluster, controlPlane } = stuck;
const roles = await buildDirectory(controlPlane, join(MANIFESTS, 'overlays', 'restore-role'));
const { rules = [] } = roles.find(({ metadata }) => metadata.name === 'machineconfig-guard-restore') ?? {};
const pool = await stuck.createStuckPool();
await requestCertificate(cluster, 'control0');

/** Expects what a user with these rights sees of a dry run: its steps and pending requests, or the missing right. */
async function expectPlan(granted: readonly Rule[], expected: unknown): Promise<void> {
  const api = stuck.connect(await createServiceAccount(cluster.admin, unique('restorer'), granted));
  const plan = async (): Promise<unknown> => {
    try {
      const { report } = await stuck.restore(pool, { api, isConfirmed: false });
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
  api.close();
}

const RIGHTS = rules.flatMap((rule) => rule.verbs.map((verb) => ({ rule, verb, resource: rule.resources?.[0] ?? '' })));
const STEPS = ['PausePool', 'CreateConfig', 'SetPoolStatus', 'AwaitMachines', 'UnpausePool', 'AwaitNodes'];
const COMPLETE = { steps: STEPS, requests: 1 };
/** Without these rights the command knows less. */
const OPTIONAL: Readonly<Record<string, unknown>> = {
  configmaps: { ...COMPLETE, steps: STEPS.filter((step) => step !== 'AwaitMachines') },
  certificatesigningrequests: { ...COMPLETE, requests: 0 },
  'machineconfigpools/finalizers': expect.stringContaining('blockOwnerDeletion'),
};

test('the rights of the role suffice', () => expectPlan(rules, COMPLETE));

test.each(RIGHTS)('the command needs its right to $verb $resource', async ({ rule, verb, resource }) => {
  const verbs = rule.verbs.filter((granted) => granted !== verb);
  const others = rules.map((other) => (other === rule ? { ...rule, verbs } : other));
  const missing = expect.stringContaining(`cannot ${verb} resource "${resource}"`) as unknown;
  await expectPlan(
    others.filter((granted) => granted.verbs.length > 0),
    OPTIONAL[resource] ?? missing,
  );
});

test('each right on the pod that reads a disk is needed', async () => {
  const kubelet = await ExecServer.start(() => ({ stdout: pool.missing.text }));
  onTestFinished(() => kubelet.stop());
  const [node = ''] = pool.masters;
  await createDaemonPod(cluster, node, kubelet.port);
  const { rules: ofNode = [] } =
    roles.find(({ metadata }) => metadata.name === 'machineconfig-guard-restore-from-node') ?? {};
  const { signal } = new AbortController();
  const expectRead = async (granted: readonly Rule[], expected: string) => {
    const user = stuck.connect(await createServiceAccount(cluster.admin, unique('reader'), [...rules, ...granted]));
    const read = async () => {
      const snapshot = await readClusterSnapshot(user, undefined, signal);
      return readConfigsFromNode(node, { api: user, snapshot, name: undefined, isConfirmed: false, signal }).then(
        (configs) => configs.map(({ name }) => name).join(),
        (error: Error) => (error.cause instanceof Error ? error.cause : error).message,
      );
    };
    await expect.poll(read).toContain(expected);
    user.close();
  };
  await expectRead(ofNode, pool.missing.name);
  const withoutPods = ofNode.filter(({ resources }) => !resources?.includes('pods'));
  await expectRead(withoutPods, 'cannot list resource "pods"');
  // This API server asks for the verb get. From Kubernetes 1.35 on, it is create.
  const execRule = { apiGroups: [''], resources: ['pods/exec'], verbs: ['create'] };
  await expectRead(
    [...ofNode.filter(({ verbs }) => verbs.includes('list')), execRule],
    'cannot get resource "pods/exec"',
  );
});

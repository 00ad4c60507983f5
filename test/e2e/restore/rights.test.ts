import { join } from 'node:path';

import { expect, test } from 'vitest';

import { ClusterAccessError } from '../../../src/client/cluster-access.ts';
import type { Rule } from '../control-plane/kube-client.ts';
import { requestCertificate } from '../inspect/incident-b.ts';
import { unique } from '../support/cluster.ts';
import { buildDirectory } from '../support/kubectl.ts';
import { MANIFESTS } from '../support/overlays.ts';
import { createServiceAccount } from '../support/service-account.ts';
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

import { join } from 'node:path';

import { afterAll, expect, test } from 'vitest';

import { ClusterAccessError } from '../../../src/inspect/cluster-access.ts';
import { restore, type RestoreReport } from '../../../src/restore/restore.ts';
import { until } from '../control-plane/until.ts';
import { requestCertificate } from '../inspect/incident-b.ts';
import { unique } from '../support/cluster.ts';
import { buildDirectory } from '../support/kubectl.ts';
import { MANIFESTS } from '../support/overlays.ts';
import { createServiceAccount, type Rule } from '../support/service-account.ts';
import { StuckCluster } from './stuck-cluster.ts';

interface GrantedRule extends Rule {
  readonly resourceNames?: readonly string[];
}

const stuck = await StuckCluster.start();
const { cluster, controlPlane } = stuck;
// OpenShift enables it.
await controlPlane.apiServer.restart(['--enable-admission-plugins=OwnerReferencesPermissionEnforcement']);
const roles = await buildDirectory(controlPlane, join(MANIFESTS, 'overlays', 'restore-role'));
const [role] = roles.filter(({ metadata }) => metadata.name === 'machineconfig-guard-restore');
const { rules } = role as unknown as { readonly rules: readonly GrantedRule[] };
const { missing } = await stuck.createStuckPool();
await requestCertificate(cluster, 'control0');

afterAll(() => controlPlane.stop());

/** What a user with these rights sees of a dry run: its plan and the pending requests, or the missing right. */
async function tryRestore(granted: readonly GrantedRule[]): Promise<unknown> {
  const token = await createServiceAccount(cluster.admin, unique('restorer'), granted);
  const api = stuck.connect(token);
  const isConfirmed = false;
  const options = { configs: [missing.config], isConfirmed, acceptContent: false, timeoutMs: 5_000 };
  try {
    // RBAC takes a moment to see a new binding.
    await until(
      'the binding',
      async () => (await api.json({ path: '/api', signal: AbortSignal.timeout(5_000) })) !== 0,
    );
    return summarize(await restore(api, options));
  } catch (error) {
    if (!(error instanceof ClusterAccessError)) throw error;
    return (error.cause as Error).message;
  } finally {
    api.close();
  }
}

function summarize({ configs, pendingCertificateRequests }: RestoreReport): unknown {
  const steps = configs.flatMap((config) => config.steps.map(({ action }) => action));
  return { steps, requests: pendingCertificateRequests.length };
}

const RIGHTS = rules.flatMap((rule) =>
  rule.verbs.map((verb) => ({ rule, verb, resource: rule.resources?.[0] })),
);
const ALL = {
  steps: ['PausePool', 'CreateConfig', 'AwaitNodes', 'SetPoolStatus', 'AwaitMachines', 'UnpausePool'],
  requests: 1,
};

test('the rights of the role suffice', async () => {
  await expect.poll(() => tryRestore(rules)).toEqual(ALL);
});

test.each(RIGHTS)('the command needs its right to $verb $resource', async ({ rule, verb }) => {
  const others = rules.map((other) =>
    other === rule ? { ...rule, verbs: rule.verbs.filter((granted) => granted !== verb) } : other,
  );
  expect(await tryRestore(others.filter(({ verbs }) => verbs.length > 0))).not.toEqual(ALL);
});

import { dirname, join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { until } from '../control-plane/until.ts';
import { unique } from '../support/cluster.ts';
import { kubectl, kubectlOk } from '../support/kubectl.ts';
import { MANIFESTS } from '../support/overlays.ts';
import { PATHS } from '../support/paths.ts';
import { sharedInstalledCluster } from '../support/shared-clusters.ts';

const COMPONENTS = ['pool-deletion-warning', 'webhook-deletion-reason'].map((name) =>
  join(MANIFESTS, 'components', name),
);
const CONFIGURATION = ['validatingwebhookconfiguration', 'machineconfig-guard'];
const SUCCESS = { exitCode: 0, stderr: '' };
const installed = await sharedInstalledCluster();
const { cluster, controlPlane } = installed;

/** Deletes as `oc delete` does. */
async function deleteWith(...args: readonly string[]) {
  const { exitCode, stderr } = await kubectl(controlPlane, ['delete', ...args]);
  return { exitCode, stderr: stderr.trimEnd() };
}

/** The pool has machines only if its status says so. */
async function createPool(machineCount: number): Promise<string> {
  const { name } = (await cluster.pool({ name: unique('infra') })).metadata;
  await cluster.admin.patch(`${PATHS.pools}/${name}/status`, { status: { machineCount } });
  return name;
}

beforeAll(async () => {
  for (const component of COMPONENTS) await installed.applyOverlay(component);
  const probe = await createPool(1);
  // The API server reads its policies every second.
  await until('both policies', async () => {
    await installed.applyOverlay('monitoring');
    const answers = [
      await deleteWith(...CONFIGURATION),
      await deleteWith('machineconfigpool', probe, '--dry-run=server'),
    ];
    return answers.every(({ stderr }) => stderr !== '');
  });
});

afterAll(async () => {
  for (const component of COMPONENTS) await installed.deleteOverlay(component);
});

test('a deletion of a pool with machines succeeds with a warning, and that of an empty pool without', async () => {
  const [used, empty] = [await createPool(3), await createPool(0)];
  const answer = await deleteWith('machineconfigpool', used);
  expect(answer.exitCode).toBe(0);
  expect(answer.stderr).toMatch(
    /^Warning: Validation failed for .*'pool-deletion\.machineconfig-guard\.io'.*: pool \S+ still has 3 machines\./,
  );
  expect(answer.stderr).toContain(`such as node-role.kubernetes.io/${used}`);
  expect(await deleteWith('machineconfigpool', empty)).toEqual(SUCCESS);
});

test('the webhook configuration needs a reason, except for an installer, and others need none', async () => {
  const denied = await deleteWith(...CONFIGURATION);
  expect(denied).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(/^Error from server \(Forbidden\): /) });
  const [, annotate = '', command = ''] = /give a reason: oc (.+) && oc (.+)$/.exec(denied.stderr) ?? [];
  expect(await deleteWith(...CONFIGURATION, '--dry-run=server')).toEqual(SUCCESS);
  const account = 'system:serviceaccount:openshift-gitops:argocd';
  expect(await deleteWith(...CONFIGURATION, '--as', account, '--as-group', 'system:masters')).toEqual(SUCCESS);
  await installed.applyOverlay('monitoring');
  const other = { apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingWebhookConfiguration' };
  const name = unique('other');
  await cluster.admin.create(dirname(PATHS.guardWebhook), { ...other, metadata: { name } });
  expect(await deleteWith('validatingwebhookconfiguration', name)).toEqual(SUCCESS);

  // The denial prints the way out.
  await kubectlOk(controlPlane, annotate.replaceAll("'", '').split(' '));
  expect(command).toBe(`delete ${CONFIGURATION.join(' ')}`);
  const { annotations } = await cluster.auditEvent(await cluster.admin.request('DELETE', PATHS.guardWebhook));
  expect(annotations).toMatchObject({ 'webhook-deletion.machineconfig-guard.io/reason': 'why' });
  await installed.applyOverlay('monitoring');
});

// k8s.io/apiserver, admission/plugin/policy. So no policy can protect the floor.
test('the API server evaluates no policy, even one for everything, when it deletes policies and bindings', async () => {
  const name = 'everything.example.com';
  const rule = { apiGroups: ['*'], apiVersions: ['*'], operations: ['DELETE'], resources: ['*'] };
  const validations = [{ expression: 'false' }];
  const policy = { matchConstraints: { resourceRules: [rule] }, validations };
  const specs = { '': policy, Binding: { policyName: name, validationActions: ['Deny'] } };
  for (const [suffix, spec] of Object.entries(specs)) {
    const type = { apiVersion: 'admissionregistration.k8s.io/v1', kind: `ValidatingAdmissionPolicy${suffix}` };
    const object = JSON.stringify({ ...type, metadata: { name }, spec });
    await kubectlOk(controlPlane, ['apply', '--filename=-'], object);
  }
  const deletePool = ['machineconfigpool', await createPool(0), '--dry-run=server'] as const;
  await until('the policy', async () => (await deleteWith(...deletePool)).stderr.includes(name));
  for (const kind of ['validatingadmissionpolicybinding', 'validatingadmissionpolicy'])
    expect(await deleteWith(kind, name)).toEqual(SUCCESS);
});

import { dirname } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { ControlPlane } from '../control-plane/control-plane.ts';
import { expectStatus, KubeClient, statusOf } from '../control-plane/kube-client.ts';
import { until } from '../control-plane/until.ts';
import { kubectlOk } from '../support/kubectl.ts';
import { overlay } from '../support/overlays.ts';
import { PATHS } from '../support/objects.ts';
import { runBinaries } from '../support/runner.ts';
import { serviceAccountToken } from '../support/service-account.ts';

const GUARDS = dirname(PATHS.guard);
const GUARD = { apiVersion: 'machineconfig-guard.io/v1alpha1', kind: 'MachineConfigGuard' };

// No guard runs here, which would create the object first.
const controlPlane = await ControlPlane.start(await runBinaries());
const { admin } = controlPlane.apiServer;
await kubectlOk(controlPlane, ['apply', '--kustomize', overlay('service-ca')]);
/** Has the token of the guard. */
const thief = new KubeClient({
  ...admin.connection,
  token: await serviceAccountToken(admin, 'machineconfig-guard', 'machineconfig-guard'),
});
const withLabel = { name: 'cluster', labels: { a: 'b' } };
await until('the policy', async () => (await create(thief, {}, withLabel)).status === 403);

afterAll(() => controlPlane.stop());

beforeEach(async () => {
  expectStatus(await admin.delete(PATHS.guard), [200, 404], 'DELETE');
});

function create(client: KubeClient, spec?: object, metadata: object = { name: 'cluster' }) {
  return client.request('POST', GUARDS, { ...GUARD, metadata, spec });
}

test.each<[spec: object | undefined, metadata: object, denial: string | undefined]>([
  [{ mode: 'Disabled' }, {}, 'may create only the MachineConfigGuard "cluster"'],
  [{ holdSuperseded: '0s' }, {}, 'may create only'],
  [undefined, { finalizers: ['example.com/stay'] }, 'whose metadata is its name'],
  [undefined, {}, undefined],
])("the guard's token creates a MachineConfigGuard with %j and metadata %j: %s", async (spec, metadata, denial) => {
  const response = await create(thief, spec, { name: 'cluster', ...metadata });
  expect(response.status).toBe(denial === undefined ? 201 : 403);
  if (denial !== undefined) expect(statusOf(response).message).toContain(denial);
  else expect(response.body).toMatchObject({ spec: { mode: 'Enforce' } });
});

test("the guard's token cannot change or delete the MachineConfigGuard", async () => {
  await create(admin);
  const patch = { spec: { mode: 'Disabled' } };
  const apply = { query: { fieldManager: 'thief' }, contentType: 'application/apply-patch+yaml' };
  const responses = [
    await thief.request('PATCH', PATHS.guard, patch),
    await thief.request('PATCH', PATHS.guard, { ...GUARD, metadata: { name: 'cluster' }, ...patch }, apply),
    await thief.request('PUT', PATHS.guard, { ...(await admin.find(PATHS.guard)), ...patch }),
    await thief.delete(PATHS.guard),
  ];
  expect(responses.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
  // The status is a subresource: a patch of it does not change the spec.
  expect((await thief.request('PATCH', `${PATHS.guard}/status`, patch)).status).toBe(200);
  expect((await admin.find(PATHS.guard))?.spec).toMatchObject({ mode: 'Enforce' });
});

test('an administrator can create the MachineConfigGuard with any settings', async () => {
  expect((await create(admin, { mode: 'Disabled', holdSuperseded: '1h' })).status).toBe(201);
});

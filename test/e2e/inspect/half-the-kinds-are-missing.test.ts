import { afterAll, beforeAll, expect, test } from 'vitest';

import { ControlPlane } from '../control-plane/control-plane.ts';
import { until } from '../control-plane/until.ts';
import { machineConfig } from '../support/objects.ts';
import { PATHS } from '../support/paths.ts';
import { runBinaries } from '../support/run-binaries.ts';
import { createNode, createPool, INCIDENT_B } from './incidents.ts';
import { Inspector, READ_ONLY } from './inspector.ts';

const { worker } = INCIDENT_B;
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const MCO = 'machineconfiguration.openshift.io';

let controlPlane: ControlPlane;
let inspector: Inspector;

beforeAll(async () => {
  controlPlane = await ControlPlane.start(await runBinaries());
  const { admin } = controlPlane.apiServer;
  await admin.create(PATHS.configs, machineConfig({ name: worker }));
  await createPool(admin, { name: 'worker', spec: worker, status: worker });
  await createNode(admin, { name: 'worker0', role: 'worker', config: worker });
  inspector = await Inspector.withRights(controlPlane, READ_ONLY);
});

afterAll(() => controlPlane.stop());

/** Takes the definition of a kind away and waits until it is served no more. */
async function withdraw(resource: string): Promise<void> {
  const { admin } = controlPlane.apiServer;
  await admin.delete(`${CRDS}/${resource}.${MCO}`);
  await until(
    `${resource} to be gone`,
    async () => (await admin.request('GET', `/apis/${MCO}/v1/${resource}`)).status === 404,
    { timeoutMs: 30_000 },
  );
}

test('without builds, as before OpenShift 4.18, both commands work', async () => {
  await withdraw('machineosbuilds');
  // The API server's directory follows a moment after the kind.
  await until(
    'the directory to be without builds',
    async () => (await inspector.run('who-uses', worker)).exitCode === 0,
    { timeoutMs: 20_000, everyMs: 500 },
  );
  expect((await inspector.run('check')).exitCode).toBe(0);
});

test.each(['machineconfigpools', 'machineconfigs'])(
  'without %s nothing can be said: one sentence, 3',
  async (resource) => {
    await withdraw(resource);
    for (const command of [['check'], ['who-uses', worker]]) {
      const { exitCode, stdout, stderr } = await inspector.run(...command);
      expect([exitCode, stdout]).toEqual([3, '']);
      expect(stderr.trimEnd().split('\n')).toHaveLength(1);
      expect(stderr).toMatch(
        /^machineconfig-guard: the API server at \S+ does not serve machineconfig(?:pool)?s\.machineconfiguration\.openshift\.io: it is not OpenShift/,
      );
    }
  },
);

import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';

import { ControlPlane } from '../control-plane/control-plane.ts';
import { machineConfig } from '../support/objects.ts';
import { PATHS } from '../support/paths.ts';
import { runBinaries } from '../support/run-binaries.ts';
import { annotate, createNode, createPool, INCIDENT_B } from './incidents.ts';
import { Inspector, READ_ONLY } from './inspector.ts';

const { worker } = INCIDENT_B;
const NODE = 'worker0.gw.lo';

let controlPlane: ControlPlane;
let inspector: Inspector;

beforeAll(async () => {
  controlPlane = await ControlPlane.start(await runBinaries());
  const { admin } = controlPlane.apiServer;
  await admin.create(PATHS.configs, machineConfig({ name: worker }));
  await createPool(admin, { name: 'worker', spec: worker, status: worker });
  inspector = await Inspector.withRights(controlPlane, READ_ONLY);
});

beforeEach(() => createNode(controlPlane.apiServer.admin, { name: NODE, role: 'worker' }));

afterEach(async () => {
  await controlPlane.apiServer.admin.delete(`${PATHS.nodes}/${NODE}`);
});

afterAll(() => controlPlane.stop());

test('it ends with 0 when the node has reported and its config is there', async () => {
  const { admin } = controlPlane.apiServer;
  const missing = INCIDENT_B.missing.replace('master', 'infra');
  const check = inspector.start('check', '--wait');
  await check.said(`node ${NODE}: has not reported a configuration yet`);
  // A pool that has not been rendered yet: its config may still come.
  await createPool(admin, { name: 'infra', status: worker });
  await annotate(admin, NODE, { currentConfig: worker, desiredConfig: missing });
  await check.said(`node ${NODE}: desiredConfig ${missing} does not exist`);
  await admin.create(PATHS.configs, machineConfig({ name: missing }));
  await check.said(`node ${NODE}: fine`);
  await admin.patch(`${PATHS.pools}/infra`, { spec: { configuration: { name: missing } } });
  const { exitCode, stdout } = await check.ended;
  expect(exitCode).toBe(0);
  expect(stdout).toContain('Fine: every config that 1 node and 2 pools name exists.');
  await admin.delete(`${PATHS.pools}/infra`);
  await admin.delete(`${PATHS.configs}/${missing}`);
});

test('it ends with 1 as soon as it cannot heal any more', async () => {
  const check = inspector.start('check', '--wait', '--timeout', '10m');
  await check.said('has not reported');
  await annotate(controlPlane.apiServer.admin, NODE, { currentConfig: INCIDENT_B.missing, desiredConfig: worker });
  const { exitCode, stdout } = await check.ended;
  expect(exitCode).toBe(1);
  expect(stdout).toContain('Waiting does not heal this.');
});

test('it ends with 1 at the timeout', async () => {
  const { exitCode, stdout } = await inspector.run('check', '--wait', '--timeout', '3s');
  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/^Not fine: 1 of 1 node\. Still so after \ds\.$/m);
});

test('an API server that restarts is waited for', async () => {
  const check = inspector.start('check', '--wait');
  await check.said('has not reported');
  await controlPlane.apiServer.stop();
  await check.said('ECONNREFUSED. Trying again.');
  await controlPlane.apiServer.start();
  await annotate(controlPlane.apiServer.admin, NODE, { currentConfig: worker, desiredConfig: worker });
  const { exitCode, stderr } = await check.ended;
  expect(exitCode).toBe(0);
  expect(stderr).toContain('the API server answers again');
});

test('one that does not come back until the timeout: 3', async () => {
  const check = inspector.start('check', '--wait', '--timeout', '8s');
  await check.said('has not reported');
  await controlPlane.apiServer.stop();
  try {
    const { exitCode, stdout, stderr } = await check.ended;
    expect([exitCode, stdout]).toEqual([3, '']);
    expect(stderr.trimEnd().split('\n').at(-1)).toMatch(/^machineconfig-guard: cannot list .* cannot be reached/);
  } finally {
    await controlPlane.apiServer.start();
  }
});

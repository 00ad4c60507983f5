import { afterAll, beforeAll, expect, test } from 'vitest';

import { ControlPlane } from '../control-plane/control-plane.ts';
import { machineConfig } from '../support/objects.ts';
import { PATHS } from '../support/paths.ts';
import { runBinaries } from '../support/run-binaries.ts';
import { createNode, createPool, INCIDENT_B } from './incidents.ts';
import { Inspector, READ_ONLY } from './inspector.ts';

const { worker } = INCIDENT_B;

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

test('kubectl finds it and hands answers and exit codes on', async () => {
  const used = await inspector.kubectl('mcguard', 'who-uses', worker);
  expect(used).toMatchObject({ exitCode: 0, stderr: '' });
  expect(used.stdout).toContain(`${worker} is in use by 1 node and 1 pool.`);
  expect(await inspector.kubectl('mcguard', 'who-uses', 'rendered-worker-none')).toMatchObject({ exitCode: 1 });
  expect(await inspector.kubectl('mcguard', 'check', '--role', 'worker')).toMatchObject({ exitCode: 0 });
  expect(await inspector.kubectl('mcguard', 'check', '--role', 'infra')).toMatchObject({ exitCode: 1 });
});

test('its help says what to type', async () => {
  const { exitCode, stdout } = await inspector.kubectl('mcguard', 'who-uses', '--help');
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^Usage: kubectl mcguard who-uses /);
  expect(stdout).toContain('\n  kubectl mcguard who-uses --unused\n');
  expect(await inspector.kubectl('mcguard', 'who-uses')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringMatching(/^kubectl mcguard: name a config/),
  });
});

test('kubectl lists it among its plugins without a complaint about it', async () => {
  const { stdout, stderr } = await inspector.kubectl('plugin', 'list');
  expect(stdout).toMatch(/\/kubectl-mcguard$/m);
  expect(stderr).not.toContain('mcguard');
});

import { afterAll, beforeAll, expect, test } from 'vitest';

import type { CheckReport } from '../../../src/inspect/check-report.ts';
import { ControlPlane } from '../control-plane/control-plane.ts';
import { machineConfig } from '../support/objects.ts';
import { PATHS } from '../support/paths.ts';
import { runBinaries } from '../support/run-binaries.ts';
import { annotate, createNode, createPool, INCIDENT_B } from './incidents.ts';
import { Inspector, READ_ONLY } from './inspector.ts';

const { worker } = INCIDENT_B;
/** As in the published example by which administrators force a node to a config. */
const typo = worker.replace('rendered-worker', 'render-worker');

let controlPlane: ControlPlane;
let inspector: Inspector;

beforeAll(async () => {
  controlPlane = await ControlPlane.start(await runBinaries());
  const { admin } = controlPlane.apiServer;
  await admin.create(PATHS.configs, machineConfig({ name: worker }));
  await createPool(admin, { name: 'worker', spec: worker, status: worker });
  await createNode(admin, { name: 'worker0.gw.lo', role: 'worker', config: worker });
  await annotate(admin, 'worker0.gw.lo', { currentConfig: typo, desiredConfig: typo });
  inspector = await Inspector.withRights(controlPlane, READ_ONLY);
});

afterAll(() => controlPlane.stop());

test('check: no pool is going to render that name; another one is near', async () => {
  const { exitCode, stdout } = await inspector.run('check', '--output', 'json');
  expect(exitCode).toBe(1);
  const { problems, repairs, pendingCertificateRequests } = JSON.parse(stdout) as CheckReport;
  const problem = { code: 'ConfigMissing', name: 'worker0.gw.lo', config: typo, canHeal: false, suggestion: worker };
  expect(problems).toMatchObject([
    { ...problem, field: 'currentConfig' },
    { ...problem, field: 'desiredConfig' },
  ]);
  expect(repairs.map(({ command }) => command)).toEqual([
    expect.stringContaining(`currentConfig=${worker} machineconfiguration.openshift.io/desiredConfig=${worker}`),
  ]);
  // With rights for the essential only.
  expect(pendingCertificateRequests).toMatchObject({
    readable: false,
    reason: 'you may not list certificatesigningrequests.certificates.k8s.io',
  });
});

test('who-uses: not in the API, the nearest, and who names it all the same', async () => {
  const { exitCode, stdout } = await inspector.run('who-uses', typo);
  expect(exitCode).toBe(0);
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
    `${typo} is not in the API. It is named all the same, by 1 node. Nearest existing name: ${worker}.`,
  );
  expect(stdout).toMatch(/^Node +worker0\.gw\.lo +currentConfig, desiredConfig +hard$/m);
});

import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, expect, test } from 'vitest';

import type { CheckReport } from '../../../src/cli/check/check-cluster.ts';
import { sharedInstalledCluster } from '../support/shared-clusters.ts';
import { Shell } from '../support/shell.ts';
import { createIncidentB, INCIDENT_B } from './incident-b.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

const installed = await sharedInstalledCluster();

beforeAll(() => installed.clear());
afterAll(() => installed.clear());

// test/build/package.test.ts also builds the program, and checks the files of the package.
test('npx runs check from the packed program on a cluster, without a registry', async () => {
  await createIncidentB(installed.cluster);
  const shell = await Shell.open(installed.controlPlane);
  const packed = await shell.run(`mkdir empty && cd empty && npm pack --ignore-scripts --pack-destination .. ${ROOT}`);
  expect(packed).toMatchObject({ exitCode: 0 });

  const npx = 'npx --offline --yes --package=../$(ls .. | grep tgz) machineconfig-guard check --output json';
  const { exitCode, stdout } = await shell.run(npx);

  expect(exitCode).toBe(1);
  const { problems } = JSON.parse(stdout) as CheckReport;
  expect(problems).toContainEqual(expect.objectContaining({ code: 'ConfigMissing', config: INCIDENT_B.missing }));
});

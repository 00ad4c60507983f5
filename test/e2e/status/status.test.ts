import { beforeAll, expect, test } from 'vitest';

import type { GuardStatus } from '../../../src/guard/status-writer.ts';
import { until } from '../control-plane/until.ts';
import { createIncidentB, INCIDENT_B } from '../inspect/incident-b.ts';
import { kubectlOk } from '../support/kubectl.ts';
import { PATHS } from '../support/paths.ts';
import { sharedInstalledCluster } from '../support/shared-clusters.ts';

interface Status extends GuardStatus {
  readonly lastDenial?: { readonly name: string };
}

const installed = await sharedInstalledCluster();
const { cluster, controlPlane } = installed;

beforeAll(() => installed.clear());

async function awaitStatus(isWanted: (status: Status) => boolean, timeoutMs = 10_000): Promise<Status> {
  let status: Status | undefined;
  const poll = async () => {
    status = (await cluster.admin.find(PATHS.guard))?.status as Status | undefined;
    return status?.conditions !== undefined && isWanted(status) && status;
  };
  return until(() => `the status; the last one was ${JSON.stringify(status)}`, poll, { timeoutMs });
}

function formatConditions({ conditions }: Status): readonly string[] {
  return conditions.map(({ type, status }) => `${type}=${status}`);
}

test('reports a ready and consistent cluster with valid certificates', async () => {
  const status = await awaitStatus(
    ({ conditions, danglingCount }) => conditions.length === 3 && danglingCount === 0,
    40_000,
  );

  expect(status.mode).toBe('Enforce');
  expect(formatConditions(status)).toEqual([
    'Ready=True',
    'ReferencesConsistent=True',
    'CertificatesValid=True',
  ]);
}, 60_000);

test('reports dangling references in status, columns and Events until their repair', async () => {
  await createIncidentB(cluster);
  const { masters, master, missing } = INCIDENT_B;

  const status = await awaitStatus(({ danglingCount }) => danglingCount === 5);

  const found = status.danglingReferences.map(
    ({ kind, name, field, config }) => `${kind} ${name} ${field} ${config}`,
  );
  const ofNodes = masters.flatMap((name) => [
    `Node ${name} currentConfig ${missing}`,
    `Node ${name} desiredConfig ${missing}`,
  ]);
  expect(found.toSorted()).toEqual(['MachineConfigPool master status ', ...ofNodes]);
  const ofNode = status.danglingReferences.find(({ kind }) => kind === 'Node');
  expect(ofNode?.explanation).toMatch(/^never existed since/);
  expect(formatConditions(status)).toContain('ReferencesConsistent=False');
  const table = await kubectlOk(controlPlane, ['get', 'mcguard', 'cluster']);
  const [columns, row] = table.split('\n').map((line) => line.split(/\s{2,}/));
  expect(columns).toEqual(['NAME', 'MODE', 'READY', 'PROTECTED', 'DANGLING', 'LAST DENIAL', 'AGE']);
  const isCount: unknown = expect.stringMatching(/^\d+$/);
  expect(row?.slice(0, 5)).toEqual(['cluster', 'Enforce', 'True', isCount, '5']);
  const describeNode = () => kubectlOk(controlPlane, ['describe', 'node', masters[0]]);
  await expect
    .poll(describeNode)
    .toMatch(new RegExp(`DanglingReference .* names ${missing}, which does not exist`));

  const configs = { currentConfig: master, desiredConfig: master };
  for (const name of masters) await cluster.moveNode(name, configs);
  const poolPatch = { status: { configuration: { name: master } } };
  await cluster.admin.patch(`${PATHS.pools}/master/status`, poolPatch);
  const repaired = await awaitStatus(({ danglingCount }) => danglingCount === 0);
  expect(formatConditions(repaired)).toContain('ReferencesConsistent=True');
}, 60_000);

test('reports the last denial with user and referrers', async () => {
  const config = await cluster.config();
  const name = await cluster.node({ currentConfig: config });
  expect((await cluster.delete(config)).status).toBe(403);

  const isAboutConfig = (status: Status) => status.lastDenial?.name === config;
  const { lastDenial } = await awaitStatus(isAboutConfig, 15_000);

  const referrers = [{ kind: 'Node', name, field: 'currentConfig' }];
  expect(lastDenial).toMatchObject({ user: 'admin', referrers });
});

import { afterAll, beforeEach, expect, test } from 'vitest';
import { checkCluster } from '../../../src/cli/check/check-cluster.ts';
import { type State, STATES } from '../../diagnosis/states.ts';
import { clearStates, createState } from '../support/cluster-states.ts';
import { sharedInstalledCluster } from '../support/installed-cluster.ts';

const installed = await sharedInstalledCluster();
const { cluster, controlPlane } = installed;
const { admin } = cluster;
const api = controlPlane.connectApi();

beforeEach(clear);
afterAll(async () => {
  api.close();
  await clear();
});

async function clear() {
  await admin.delete('/apis/certificates.k8s.io/v1/certificatesigningrequests');
  await clearStates(installed);
  await installed.clear();
}

/** Whether a new cluster can have the state: the API server writes managedFields and creation times itself. */
function canBeCreated({ nodes, pools, builds = {}, osConfigs = {}, obstacles, requests }: State): boolean {
  const hasWrites = Object.values(nodes).some(
    ({ currentWrite, desiredWrite, drainingForMinutes, cordon, ageMinutes, movedMinutesAgo }) =>
      [currentWrite, desiredWrite, drainingForMinutes, cordon, ageMinutes, movedMinutesAgo].some(
        (each) => each !== undefined,
      ),
  );
  const isRebuilt = Object.values(osConfigs).some(({ rebuiltMinutesAgo }) => rebuiltMinutesAgo !== undefined);
  const hasOldBuild = Object.values(builds).some(({ ageMinutes }) => ageMinutes !== undefined);
  const hasOldPool = Object.values(pools).some(
    ({ spec, ageMinutes, specWrittenMinutesAgo, conditions = [] }) =>
      (spec === undefined && ageMinutes !== undefined) ||
      specWrittenMinutesAgo !== undefined ||
      conditions.some(({ type }) => type === 'Updated') ||
      // A new desired config has not failed for hours.
      conditions.some(({ type, minutesAgo = 0 }) => type === 'NodeDegraded' && minutesAgo > 60),
  );
  return !hasWrites && !isRebuilt && !hasOldBuild && !hasOldPool && obstacles === undefined && requests === undefined;
}

const CREATABLE = Object.entries(STATES).filter(([, state]) => canBeCreated(state));

test.for(CREATABLE)('check finds state %s on a real API server', async ([name, { problems, repairs = [] }]) => {
  await createState(installed, name);

  const { report } = await checkCluster(api);

  const codes = new Set(report.problems.map(({ code, recoverable }) => code + (recoverable ? '?' : '')));
  expect([...codes]).toEqual(problems);
  const lines = report.repairs.map(({ text, command, alternative }) => {
    return (alternative ? '# ' : '') + (command?.words.join(' ') ?? text);
  });
  expect(lines).toEqual(repairs);
});

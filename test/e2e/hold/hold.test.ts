import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ReferencesReport } from '../../../src/cli/who-uses/references-report.ts';
import { toSeconds } from '../../../src/common/duration.ts';
import { statusOf } from '../control-plane/kube-client.ts';
import { until } from '../control-plane/until.ts';
import { unique } from '../support/cluster.ts';
import { kubectlOk } from '../support/kubectl.ts';
import { PATHS, renderedName } from '../support/objects.ts';
import { runProgramOk } from '../support/programs.ts';
import { sharedInstalledCluster } from '../support/installed-cluster.ts';
import type { HoldStatus } from '../../../src/status/guard-status.ts';

const installed = await sharedInstalledCluster();
const { cluster, controlPlane } = installed;
const { admin } = cluster;

beforeAll(async () => {
  // Longer than a test takes on any machine.
  await installed.setSettings({ mode: 'Enforce', holdSuperseded: '1h' });
  // The guard allows no deletion if the list of nodes is empty.
  await cluster.node({ currentConfig: renderedName() });
});
afterAll(() => installed.setSettings({ mode: 'Enforce', holdSuperseded: '0s' }));

/** A pool without machines that has rolled out a second config. Returns the pool and its first config. */
async function createPool() {
  const name = unique('infra');
  const [first, second] = [
    await cluster.config({ name: renderedName(name) }),
    await cluster.config({ name: renderedName(name) }),
  ];
  const owner = await cluster.pool({ name, spec: first });
  for (const config of [first, second]) {
    await admin.patch(`${PATHS.pools}/${name}`, { spec: { configuration: { name: config } } });
    const lastTransitionTime = toSeconds(new Date());
    const conditions = [{ type: 'Updated', status: 'True', lastTransitionTime, reason: '', message: '' }];
    await admin.patch(`${PATHS.pools}/${name}/status`, { status: { configuration: { name: config }, conditions } });
  }
  return { owner, first };
}

/** Until when the guard holds the config, by its denial. */
async function readHold(config: string): Promise<number> {
  const tryDelete = async () => {
    const answer = await cluster.delete(config);
    return answer.status !== 503 && answer;
  };
  const { message = '' } = statusOf(await until('a verified answer', tryDelete));
  const [, time] = new RegExp(`MCG_HELD: ${config} is held until (\\S+Z): .*\\. Delete it`).exec(message) ?? [];
  return Date.parse(time ?? expect.fail(message));
}

test('who-uses --unused and the status know the holds of the guard', async () => {
  const { owner, first } = await createPool();
  // Its name has no pool, but its owner is one. The API server serves lists of metadata in protobuf.
  const owned = await cluster.config({ name: unique('rendered-by-hand'), owner });
  const free = await cluster.config({ name: renderedName('no-such-pool') });
  const { kubeconfig } = controlPlane.apiServer;
  await cluster.awaitStatus((status) => {
    const { heldConfigs } = status as Partial<HoldStatus>;
    return [first, owned].every((config) => heldConfigs?.some(({ name }) => name === config) === true);
  });

  const json = await runProgramOk('who-uses', '--unused', '-o', 'json', '--kubeconfig', kubeconfig);

  const { configs } = JSON.parse(json) as ReferencesReport;
  const findHold = (config: string) => configs.find(({ name }) => name === config);
  expect(findHold(free)).toMatchObject({ heldUntil: null });
  for (const config of [first, owned]) {
    expect(Date.parse(findHold(config)?.heldUntil ?? '')).toBe(await readHold(config));
  }
  const names = await runProgramOk('who-uses', '--unused', '-o', 'name', '--kubeconfig', kubeconfig);
  expect([free, first, owned].filter((config) => names.includes(`/${config}\n`))).toEqual([free]);
  expect(await kubectlOk(controlPlane, ['get', 'mcguard', '-o', 'wide'])).toMatch(/HOLD +HELD +VERSION[^]* 1h +\d+ /);
});

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pause } from '../../control-plane/until.ts';
import { MCO, PATHS } from '../../support/objects.ts';
import { hasCondition, type Pool } from '../../support/cluster.ts';
import { OPERATOR_USER, OperatorCluster } from '../operator-cluster.ts';

const KUBELET_CONFIGS = `/apis/${MCO}/v1/kubeletconfigs`;
const HOLD_MS = 15_000;
/** Longer than the 5 s after which the operator looks at changed nodes. */
const FLAP_MS = 6_000;

const operator = await OperatorCluster.shared();
const { admin, installed, server } = operator;
const { cluster } = installed;

beforeAll(() => installed.setSettings({ mode: 'Enforce', holdSuperseded: `${HOLD_MS / 1_000}s` }));
afterAll(async () => {
  await operator.removeMachines();
  await installed.setSettings({ mode: 'Enforce', holdSuperseded: '0s' });
});

/** Times of this machine, in milliseconds. */
interface Observation {
  /** The last time at which the server served the config, and the pool still named it afterwards. */
  servedAt?: number;
  /** After the answer to the deletion. */
  deletedAt?: number;
}

/** For a moment, the server also serves from its cache what the pool no longer names. The hold is much longer. */
async function observeServer(pool: string, observations: ReadonlyMap<string, Observation>) {
  const served = await server.fetchName(pool);
  const now = performance.now();
  const { spec, status } = (await admin.find(`${PATHS.pools}/${pool}`)) as Pool;
  const isNamed = [spec, status].some((part) => part?.configuration?.name === served);
  const observation = observations.get(served ?? '');
  if (observation !== undefined && isNamed) observation.servedAt = now;
}

/** Tries to delete the configs while `Updated` has just changed: without its memory, the guard would hold them. */
async function deleteConfigs(pool: string, observations: ReadonlyMap<string, Observation>) {
  for (const [config, observation] of observations) {
    const { status } = (await admin.find(`${PATHS.pools}/${pool}`)) as Pool;
    const updated = status?.conditions?.find(({ type }) => type === 'Updated');
    const isRecent = Date.now() - Date.parse(updated?.lastTransitionTime ?? '') < HOLD_MS;
    if (!isRecent || observation.deletedAt !== undefined) continue;
    if ((await cluster.delete(config)).status === 200) observation.deletedAt = performance.now();
  }
}

/** The node turns not ready and ready again, and so `Updated` of its pool changes. */
async function flap(node: string, isDone: () => boolean) {
  for (let isReady = true; !isDone() || !isReady;) {
    isReady = !isReady;
    const conditions = [{ type: 'Ready', status: isReady ? 'True' : 'False', reason: 'Flap', message: '' }];
    await admin.patch(`${PATHS.nodes}/${node}/status`, { status: { conditions } });
    await pause(FLAP_MS);
  }
}

describe.concurrent('during roll-outs of the real operator', () => {
  test('while a node flaps, a config can be deleted after the hold since the server last served it', async () => {
    const [pool, source] = ['hold', '50-hold'];
    const { config: first, machine } = await operator.bootPool(pool);
    const observations = new Map<string, Observation>([[first, {}]]);
    const areAllDeleted = () =>
      observations.size === 2 && [...observations.values()].every(({ deletedAt }) => deletedAt !== undefined);
    const rollOutTwice = async () => {
      await operator.applySource(pool, source, { kernelArguments: ['second'] });
      const second = await operator.awaitRendered(pool, first);
      observations.set(second, {});
      // The second roll-out starts before the first one has ended.
      await operator.applySource(pool, source, { kernelArguments: ['third'] });
      await operator.awaitRendered(pool, second);
    };

    await Promise.all([
      rollOutTwice(),
      operator.until('the end of the hold', () => observeServer(pool, observations).then(areAllDeleted)),
      operator.until('the deletion of both', () => deleteConfigs(pool, observations).then(areAllDeleted)),
      flap(machine.name, areAllDeleted),
    ]);

    expect(observations.get(first)?.servedAt).toBeDefined();
    for (const { servedAt = 0, deletedAt = 0 } of observations.values())
      expect(deletedAt - servedAt).toBeGreaterThanOrEqual(HOLD_MS);
  });

  test('the guard denies no request of the operator and raises no alarm', async () => {
    const startedAt = Date.now();
    const pool = 'day';
    const path = `${PATHS.pools}/${pool}`;
    const changeSources = async (round: number) => {
      const previous = await operator.awaitRendered(pool);
      for (let index = 0; index < 5; index += 1)
        await operator.applySource(pool, `50-day-${index}`, { kernelArguments: [`round=${round}`] });
      await operator.awaitRendered(pool, previous);
    };
    await operator.bootPool(pool);
    const leaving = await operator.boot('day-1', ['worker', pool]);
    await operator.awaitUpdated(pool, 2);
    await changeSources(1);
    await leaving.remove();
    await admin.patch(path, { spec: { paused: true }, metadata: { labels: { kubelet: pool } } });
    const meta = { apiVersion: `${MCO}/v1`, kind: 'KubeletConfig', metadata: { name: pool } };
    const machineConfigPoolSelector = { matchLabels: { kubelet: pool } };
    await admin.create(KUBELET_CONFIGS, {
      ...meta,
      spec: { machineConfigPoolSelector, kubeletConfig: { maxPods: 100 } },
    });
    await changeSources(2);
    await changeSources(3);
    await admin.patch(path, { spec: { paused: false } });
    await changeSources(4);
    await operator.awaitUpdated(pool, 1);
    // The machine goes back to pool worker, so its own pool can be deleted.
    const labels = { [`node-role.kubernetes.io/${pool}`]: null };
    await admin.patch(`${PATHS.nodes}/day-0`, { metadata: { labels } });
    await operator.awaitUpdated('worker', 1);
    // The operator deletes the source that it made from the KubeletConfig, and then removes its finalizer.
    const kubeletConfig = `${KUBELET_CONFIGS}/${pool}`;
    await admin.delete(kubeletConfig);
    await operator.until('the end of the KubeletConfig', async () => (await admin.find(kubeletConfig)) === undefined);
    await admin.delete(path);

    const hasNoDanglingReference = async () => hasCondition(await admin.find(PATHS.guard), 'ReferencesConsistent');
    await operator.until('a guard without alarms', hasNoDanglingReference);
    const isRecent = (time: string | undefined) => Date.parse(time ?? '') >= startedAt;
    const requests = await cluster.auditEvents(({ user, requestReceivedTimestamp }) => {
      return user.username === OPERATOR_USER && isRecent(requestReceivedTimestamp);
    });
    expect(requests.filter(({ verb }) => verb === 'update').length).toBeGreaterThan(10);
    const deletions = requests.filter(({ verb }) => verb === 'delete');
    expect(deletions.map(({ objectRef }) => objectRef?.resource)).toContain('machineconfigs');
    // The operator looks for objects that do not exist, and its parts write the same objects.
    const harmless = new Set<number | undefined>([200, 201, 404, 409]);
    expect(requests.filter(({ responseStatus }) => !harmless.has(responseStatus?.code))).toEqual([]);
    const events = await admin.list(PATHS.events);
    const alarms = events.filter((event) => 'reason' in event && event.reason === 'DanglingReference');
    expect(alarms.filter(({ metadata }) => isRecent(metadata.creationTimestamp))).toEqual([]);
  });
});

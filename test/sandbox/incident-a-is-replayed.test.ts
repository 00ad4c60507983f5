import { expect, test } from 'vitest';
import { type Replay, replayIncidentA } from '../../src/demo/story/replay.ts';
import { register, type StubAnswer, stubWebhook } from './stub-webhook.ts';
import { type TestCluster, startTestCluster } from '../support/test-cluster.ts';

const FIRST = 'rendered-master-aaa111';
const SECOND = 'rendered-master-bbb222';

async function replay(sandbox: TestCluster): Promise<Replay> {
  return await replayIncidentA({ sandbox, speed: 5_000, signal: AbortSignal.timeout(15_000) });
}

/** `366 clean-up` for each line of the story. */
function moments({ events }: Replay): string[] {
  return events.map(({ t, actor }) => `${t} ${actor}`);
}

function oldConfig(review: Readonly<Record<string, unknown>>): string {
  return (review['oldObject'] as { metadata: { name: string } }).metadata.name;
}

/** Refuses while a node names the config: what a guard does, in one line. */
function refuseWhatNodesName(sandbox: TestCluster, review: Readonly<Record<string, unknown>>): StubAnswer {
  const named = sandbox.list('nodes').flatMap(({ metadata }) => Object.values(metadata.annotations ?? {}));
  const allowed = !named.includes(oldConfig(review));
  return { response: { allowed, status: { code: 403, reason: 'Forbidden', message: 'in use' } } };
}

test('without anybody who refuses the deletion it ends in the dead-lock of the incident, at its moments', async () => {
  const story = await replay(await startTestCluster());
  expect(story.outcome).toBe('deadlock');
  expect(moments(story)).toEqual([
    '0 hosts',
    '120 bootstrap',
    '180 hosts',
    '300 operator',
    '301 operator',
    '302 daemon',
    '330 daemon',
    '360 daemon',
    '366 clean-up',
    '420 installer',
    '420 etcd',
    '480 etcd',
    '480 daemon',
    '481 operator',
    '570 hosts',
    '570 install',
  ]);
  expect(story.nodes.map(({ name, current, desired, state }) => [name, current, desired, state])).toEqual([
    ['control0', SECOND, SECOND, 'Done'],
    ['control1', SECOND, SECOND, 'Done'],
    ['control2', FIRST, FIRST, 'Degraded'],
  ]);
  expect(story.nodes[2]).toMatchObject({ reason: `missing MachineConfig ${FIRST}`, ready: true });
  expect(story.pool).toEqual({
    machineCount: 3,
    updatedMachineCount: 2,
    degradedMachineCount: 1,
    configuration: '',
  });
  expect(story.configs).toEqual([SECOND]);
});

test('where it is refused while a node needs the config the install completes, and the config goes then', async () => {
  const sandbox = await startTestCluster();
  const webhook = await stubWebhook(({ review }) => refuseWhatNodesName(sandbox, review.request));
  register(sandbox, webhook.at);
  const story = await replay(sandbox);
  expect(story.outcome).toBe('completed');
  expect(story.events.filter(({ actor }) => actor === 'clean-up')).toEqual([
    {
      t: 366,
      actor: 'clean-up',
      message: `tries to delete ${FIRST}: refused`,
      refusal: {
        code: 403,
        reason: 'Forbidden',
        message: 'admission webhook "guard.example.io" denied the request: in use',
      },
    },
    { t: 606, actor: 'clean-up', message: `deletes ${FIRST}, which nothing uses any more` },
  ]);
  expect(
    story.nodes.every(({ current, desired, state }) => [current, desired, state].join() === `${SECOND},${SECOND},Done`),
  ).toBe(true);
  expect(story.pool).toMatchObject({ updatedMachineCount: 3, degradedMachineCount: 0, configuration: SECOND });
  expect(story.configs).toEqual([SECOND]);
});

test('a guard that refuses everything shows as one: the install completes, and the config stays', async () => {
  const sandbox = await startTestCluster();
  const webhook = await stubWebhook(() => ({ response: { allowed: false } }));
  register(sandbox, webhook.at);
  const story = await replay(sandbox);
  expect(story.outcome).toBe('completed');
  expect(story.configs).toEqual([FIRST, SECOND]);
  expect(webhook.calls).toHaveLength(4);
});

test('lines are heard as they happen', async () => {
  const sandbox = await startTestCluster();
  const heard: string[] = [];
  const story = await replayIncidentA({
    sandbox,
    speed: 5_000,
    signal: AbortSignal.timeout(15_000),
    onEvent: ({ message }) => heard.push(message),
  });
  expect(heard).toEqual(story.events.map(({ message }) => message));
});

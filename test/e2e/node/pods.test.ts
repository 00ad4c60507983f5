import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../control-plane/until.ts';
import { PATHS } from '../support/objects.ts';
import { probeDuring, type Prober } from '../support/prober.ts';
import { DEPLOYMENT, USER_ID, type GuardPod } from './guard-pods.ts';
import { removeGuard, sharedNodeCluster } from './shared-node-cluster.ts';

interface LeaseSpec {
  readonly holderIdentity: string;
  readonly renewTime: string;
}

/** The flags of `render` for each installation. Every test names the one that it needs, and can run alone. */
const INSTALLATIONS = {
  'one replica': ['--single-node'],
  'two replicas': [],
} as const;
type Installation = keyof typeof INSTALLATIONS;

const RIGHT_ANSWERS = 3;

const installed = await sharedNodeCluster();
const { controlPlane, replicas: pods } = installed;
const { admin } = controlPlane.apiServer;
const [, , third = expect.fail('the tests need three nodes')] = pods.cluster.nodes.map(({ name }) => name);
let current: Installation | undefined;

// The faults hit one of two nodes.
beforeAll(() => pods.kubectl('cordon', third));
afterAll(() => pods.kubectl('uncordon', third));

async function install(installation: Installation): Promise<readonly [GuardPod, ...GuardPod[]]> {
  if (current !== installation) {
    // Otherwise new pods could wait for the scheduler, which forgets that pods with an anti-affinity have ended.
    if (current !== undefined) await removeGuard(installed);
    await pods.install(...INSTALLATIONS[installation]);
  }
  current = installation;
  const [first, ...rest] = await pods.list();
  return [first ?? expect.fail('there is no pod'), ...rest];
}

test('the rendered installation runs under Pod Security restricted, as a user of the namespace', async () => {
  const [pod] = await install('one replica');

  const [process] = await pods.listProcesses(pod);
  expect(await readFile(`/proc/${process}/status`, 'utf8')).toContain(`\nUid:\t${USER_ID}\t`);
  expect(await readFile(`/proc/${process}/mounts`, 'utf8')).toMatch(/^overlay \/ overlay ro,/m);
  // Without a security context.
  const run = pods.kubectl('run', 'other', '--image=any', '--dry-run=server');
  await expect(run).rejects.toThrow('violates PodSecurity "restricted:latest"');
});

test('a restarted container continues as the leader', async () => {
  const [pod] = await install('one replica');
  const killedAt = Date.now();
  await pods.signal(pod, 'SIGKILL');
  await pods.awaitRestart(pod);

  const findLease = async () => ((await admin.find(PATHS.lease)) as { spec: LeaseSpec } | undefined)?.spec;
  const isRenewed = async () => Date.parse((await findLease())?.renewTime ?? '') > killedAt;
  // Otherwise it waits 137 s until its own Lease expires.
  await expect.poll(isRenewed).toBe(true);
  expect((await findLease())?.holderIdentity).toBe(pod.metadata.name);
});

interface PodFault {
  readonly installation: Installation;
  readonly title: string;
  /** Whether calls may fail meanwhile. */
  readonly mayFail?: true;
  /** Causes it and returns when the cluster is as before. */
  readonly inject: (prober: Prober) => Promise<void>;
}

/** By installation. They hit the pod that the API server calls, or its node. */
const FAULTS: readonly PodFault[] = [
  {
    installation: 'one replica',
    title: 'a rollout with an image that cannot be pulled',
    async inject() {
      // Nothing listens there.
      await pods.kubectl('set', 'image', DEPLOYMENT, 'guard=127.0.0.1:9/missing:1');
      const isFailing = async () => /ErrImagePull|ImagePullBackOff/.test(JSON.stringify(await pods.list()));
      await until('a pod without an image', isFailing, { everyMs: 500 });
      await pods.kubectl('rollout', 'undo', DEPLOYMENT);
      await pods.awaitRollout();
    },
  },
  {
    installation: 'two replicas',
    title: 'the container is killed',
    mayFail: true,
    async inject() {
      const pod = await pods.findServing();
      await pods.signal(pod, 'SIGKILL');
      await pods.awaitRestart(pod);
    },
  },
  {
    installation: 'two replicas',
    title: 'the processes of the pod are frozen',
    mayFail: true,
    async inject(prober) {
      const pod = await pods.findServing();
      await pods.signal(pod, 'SIGSTOP');
      await prober.awaitRightAnswers(RIGHT_ANSWERS);
      await pods.signal(pod, 'SIGCONT');
      await pods.awaitRollout();
    },
  },
  {
    installation: 'two replicas',
    title: '`oc adm drain` of the node',
    async inject() {
      const { nodeName } = (await pods.findServing()).spec;
      await pods.kubectl('drain', nodeName, '--ignore-daemonsets', '--timeout=60s');
      await pods.kubectl('uncordon', nodeName);
      await pods.awaitRollout();
    },
  },
  {
    installation: 'two replicas',
    title: 'the node loses its network',
    mayFail: true,
    async inject(prober) {
      const node = pods.nodeOf(await pods.findServing());
      await node.disconnect();
      // The other replica answers.
      await prober.awaitRightAnswers(RIGHT_ANSWERS);
      await node.reconnect();
      await pods.cluster.awaitReady(node);
      await pods.awaitRollout();
    },
  },
];

test.for(FAULTS)(
  '$installation: no deletion is answered wrongly while $title',
  async ({ installation, mayFail, inject }) => {
    await install(installation);
    let injectedAt = 0;
    const { unexpectedAnswers, wrongAnswers } = await probeDuring(installed.cluster, async (prober) => {
      injectedAt = performance.now();
      await inject(prober);
      await prober.awaitRightAnswers(RIGHT_ANSWERS);
    });
    const failed = unexpectedAnswers.filter(
      ({ sentAt, answer }) => sentAt >= injectedAt && answer.includes('failed calling webhook'),
    );
    expect(wrongAnswers).toEqual([]);
    if (mayFail !== true) expect(failed).toEqual([]);
  },
);

import { pause, until } from '../control-plane/until.ts';
import type { Prober } from '../support/prober.ts';
import { DEPLOYMENT, type GuardPods } from './guard-pods.ts';
import { rotateToken, useShortToken } from './token-rotation.ts';

/** Something that happens to a pod or its node. */
export interface PodFault {
  /** For the table in docs/failure-modes.md. */
  readonly title: string;
  /** Whether no call may fail. */
  readonly isHarmless?: true;
  /** Changes the pods before the deletions start. */
  readonly prepare?: (pods: GuardPods) => Promise<void>;
  /** Causes it and returns when the cluster is as before. */
  readonly inject: (pods: GuardPods, prober: Prober) => Promise<void>;
}

const KUBELET_AWAY_MS = 15_000;

const killed: PodFault = {
  title: 'The container is killed (`kill -9`)',
  async inject(pods) {
    const pod = await pods.findServing();
    await pods.killContainer(pod);
    await pods.awaitRestart(pod);
  },
};

/** With one replica, without an affinity to other nodes. */
export const SINGLE_REPLICA_FAULTS: readonly PodFault[] = [
  killed,
  {
    title: 'A rollout with an image that cannot be pulled',
    isHarmless: true,
    async inject(pods) {
      // Nothing listens there.
      await pods.kubectl('set', 'image', DEPLOYMENT, 'guard=127.0.0.1:9/missing:1');
      const isFailing = async () => /ErrImagePull|ImagePullBackOff/.test(await pods.kubectl('get', 'pods'));
      await until('a pod without an image', isFailing, { timeoutMs: 60_000, everyMs: 500 });
      await pods.kubectl('rollout', 'undo', DEPLOYMENT);
      await pods.awaitRollout();
    },
  },
  {
    title: 'The kubelet rotates the token of the service account',
    isHarmless: true,
    prepare: useShortToken,
    inject: rotateToken,
  },
];

/** With two replicas on two nodes. The fault hits the replica that the API server calls. */
export const TWO_REPLICA_FAULTS: readonly PodFault[] = [
  killed,
  {
    title: 'The pod is deleted with `--force`',
    async inject(pods) {
      const { metadata } = await pods.findServing();
      await pods.kubectl('delete', 'pod', metadata.name, '--force', '--grace-period=0');
      await pods.awaitRollout();
    },
  },
  {
    title: 'The container is out of memory (`OOMKilled`)',
    async inject(pods) {
      const pod = await pods.findServing();
      await pods.exhaustMemory(pod);
      const reason = await pods.awaitRestart(pod);
      if (reason !== 'OOMKilled') throw new Error(`The container ended with ${reason}.`);
    },
  },
  { title: '`oc rollout restart`', isHarmless: true, inject: restartPods },
  {
    title: '`oc adm drain` of the node',
    isHarmless: true,
    async inject(pods) {
      const { nodeName } = (await pods.findServing()).spec;
      await pods.kubectl('drain', nodeName, '--ignore-daemonsets', '--timeout=60s');
      await pods.kubectl('uncordon', nodeName);
      await pods.awaitRollout();
    },
  },
  {
    title: `The kubelet is killed, and starts after ${KUBELET_AWAY_MS / 1_000} s`,
    isHarmless: true,
    async inject(pods) {
      const node = pods.nodeOf(await pods.findServing());
      await node.killKubelet();
      await pause(KUBELET_AWAY_MS);
      const startedAt = new Date();
      node.startKubelet();
      await pods.cluster.awaitReady(node, startedAt);
      await pods.awaitRollout();
    },
  },
  {
    title: 'The node loses its network, and is `NotReady` later',
    async inject(pods, prober) {
      const node = pods.nodeOf(await pods.findServing());
      await node.disconnect();
      await pods.cluster.awaitUnreachable(node);
      await prober.awaitRightAnswers(performance.now());
      await node.reconnect();
      await pods.cluster.awaitReady(node);
      await pods.awaitRollout();
    },
  },
];

const RESTART_ON_HOST_NETWORK = '`oc rollout restart` on the host network';

/** With two replicas on the host network of two nodes. */
export const HOST_NETWORK_FAULTS: readonly PodFault[] = [
  { title: RESTART_ON_HOST_NETWORK, isHarmless: true, inject: restartPods },
];

/** With one replica on the host network of the only node. The new pod waits until the old one has left the ports. */
export const SINGLE_HOST_NETWORK_FAULTS: readonly PodFault[] = [
  { title: RESTART_ON_HOST_NETWORK, inject: restartPods },
];

async function restartPods(pods: GuardPods) {
  await pods.kubectl('rollout', 'restart', DEPLOYMENT);
  await pods.awaitRollout();
}

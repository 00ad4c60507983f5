import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type Binaries, findPrograms } from '../control-plane/binaries.ts';
import { ControlPlane } from '../control-plane/control-plane.ts';
import { freePorts } from '../control-plane/free-ports.ts';
import type { Log } from '../control-plane/go-build.ts';
import type { Release } from '../control-plane/releases.ts';
import { until } from '../control-plane/until.ts';
import { hasCondition } from '../support/cluster.ts';
import { PATHS } from '../support/objects.ts';
import { findImages } from './images.ts';
import { Node } from './node.ts';
import { requireNode } from './requirements.ts';

/** How many nodes a network has addresses for. */
export const MAX_NODES = 4;

export interface NodeAddresses {
  /** The address of this machine for the nodes and their pods. */
  readonly gateway: string;
  /** The interface of this machine that leads to the node. */
  readonly link: string;
  readonly address: string;
  /** The subnet of the node's pods. */
  readonly podSubnet: string;
}

interface Network extends Pick<NodeAddresses, 'gateway'> {
  readonly addressesOf: (index: number) => NodeAddresses;
}

/**
 * Reserves the addresses of a cluster, which no other cluster on this machine has until the end of this process. They
 * are from 198.18.0.0/15, which RFC 2544 reserves for tests, so no network that this machine can reach has them.
 */
async function reserveNetwork(): Promise<Network> {
  let number: number;
  do number = randomInt(256);
  while (!(await isReserved(number)));
  const gateway = `198.18.${number}.1`;
  return {
    gateway,
    addressesOf: (index) => ({
      gateway,
      link: `mcg${number}-${index}`,
      address: `198.18.${number}.${10 + index}`,
      podSubnet: `198.19.${number}.${64 * index}/26`,
    }),
  };
}

/** Binds an abstract socket (unix(7)): one process gets each name, and the kernel frees it when the process ends. */
async function isReserved(number: number): Promise<boolean> {
  const lock = createServer().unref().listen(`\0mcg-network-${number}`);
  return await once(lock, 'listening').then(
    () => true,
    () => false,
  );
}

/** Built apart from those of the control plane, which most runs need alone. */
const PROGRAMS = ['kubelet', 'kube-proxy', 'kube-scheduler'].map((name) => {
  return { name, package: `k8s.io/kubernetes/cmd/${name}` };
});

/**
 * Builds what nodes of a release need besides the control plane.
 * @throws MissingControlPlaneError if this machine cannot run a node
 */
export async function findNodeFiles(release: Release, log: Log) {
  requireNode(release);
  return { binaries: await findPrograms('node', release, PROGRAMS, log), images: await findImages(log) };
}

/** A control plane with scheduler and all controllers, and real nodes, which are control-plane nodes, too. */
export class NodeCluster {
  readonly controlPlane: ControlPlane;
  readonly nodes: Node[] = [];

  private constructor(controlPlane: ControlPlane) {
    this.controlPlane = controlPlane;
  }

  /**
   * Builds what is missing, and returns when all nodes are ready.
   * @throws MissingControlPlaneError if this machine cannot run a node
   */
  static async start(binaries: Binaries, nodeCount: number, log: Log): Promise<NodeCluster> {
    const files = await findNodeFiles(binaries.release, log);
    log(`Starting ${nodeCount} node${nodeCount === 1 ? '' : 's'} …`);
    const network = await reserveNetwork();
    const controlPlane = await ControlPlane.start(binaries, network.gateway);
    const cluster = new NodeCluster(controlPlane);
    try {
      await startScheduler(controlPlane, files.binaries);
      const start = async (_: unknown, index: number) => {
        const addresses = network.addressesOf(index);
        const node = await Node.start({ ...files, name: `master-${index}`, addresses, controlPlane });
        cluster.nodes[index] = node;
        await cluster.awaitReady(node);
      };
      await Promise.all(Array.from({ length: nodeCount }, start));
    } catch (error) {
      await cluster.stop();
      throw error;
    }
    return cluster;
  }

  /** Adds the labels that a kubelet may not set on its own node, and waits until the node reports that it is ready. */
  async awaitReady({ name }: Node) {
    const { admin } = this.controlPlane.apiServer;
    const path = `${PATHS.nodes}/${name}`;
    await until(`the node ${name}`, () => admin.find(path));
    const labels = { 'node-role.kubernetes.io/control-plane': '', 'node-role.kubernetes.io/master': '' };
    await admin.patch(path, { metadata: { labels } });
    await until(`${name} to be ready`, async () => hasCondition(await admin.find(path), 'Ready'));
  }

  async stop() {
    await Promise.all(this.nodes.map((node) => node.stop()));
    await this.controlPlane.stop();
  }
}

async function startScheduler(controlPlane: ControlPlane, binaries: string) {
  const name = 'kube-scheduler';
  const [port] = await freePorts(1);
  const file = await controlPlane.writeKubeconfig(name, { as: `system:${name}` });
  const args = [`--kubeconfig=${file}`, '--leader-elect=false', '--bind-address=127.0.0.1', `--secure-port=${port}`];
  controlPlane.startChild(name, join(binaries, name), args);
}

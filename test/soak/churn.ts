import { expectStatus, KubeClient, statusOf, type KubeResponse } from '../e2e/control-plane/kube-client.ts';
import { pause } from '../e2e/control-plane/until.ts';
import type { ClusterConnection } from '../e2e/support/cluster.ts';
import { machineConfig, nodeConfigPatch, pool, poolStatus, renderedName } from '../e2e/support/objects.ts';
import { PATHS } from '../e2e/support/paths.ts';
import { createFleet, nodeName } from '../bench/nodes.ts';

/**
 * A kubelet writes its node's status when something has changed, else every five minutes (kubernetes,
 * pkg/kubelet/apis/config/v1beta1/defaults.go, nodeStatusReportFrequency); that it lives, it says by a Lease, which the guard does
 * not watch. So 5,000 quiet nodes are 17 writes a second, and every one is an event of the guard's watch.
 */
const STATUS_EVERY_S = 300;
/** Of the pool that rolls out one config after another: small enough that it goes around several times in a run. */
const ROLLING_SHARE = 0.02;
const ROLLING_MIN = 3;
/** Between two nodes of a rollout. A real one takes minutes for each; to the guard it is the same two writes. */
const NEXT_NODE_MS = 500;
/** Between two deletions that must be refused, and two that must be allowed: each of those reads all nodes. */
const USED_EVERY_MS = 1_000;
const FREE_EVERY_MS = 4_000;

/** How deletions ended so far. */
export interface Tally {
  /** Of configs in use, and refused because they are. */
  refused: number;
  /** Of free ones, and gone. */
  deleted: number;
  /** Nobody decided, or the guard could not find out: nothing was deleted. */
  undecided: number;
  /** Anything else; each with what was said. */
  readonly wrong: string[];
  /** Writes of kubelets, and rollouts that came to their end. */
  statuses: number;
  rollouts: number;
}

/** A cluster in which everything goes its way: kubelets report, pools roll out, old configs are cleaned up. */
export class Churn {
  readonly tally: Tally = { refused: 0, deleted: 0, undecided: 0, wrong: [], statuses: 0, rollouts: 0 };
  readonly #connection: ClusterConnection;
  readonly #nodes: number;
  /** Of the nodes that only report; and of those that roll. */
  readonly #worker = renderedName('worker');
  #rolling = renderedName('canary');
  #stopping = false;

  constructor(connection: ClusterConnection, nodes: number) {
    this.#connection = connection;
    this.#nodes = nodes;
  }

  /** How many nodes roll. */
  get #rollingNodes(): number {
    return Math.max(ROLLING_MIN, Math.round(this.#nodes * ROLLING_SHARE));
  }

  /** Makes the nodes, two pools and their configs. */
  async prepare(): Promise<void> {
    await this.#withClient(async (client) => {
      for (const [name, config] of [
        ['worker', this.#worker],
        ['canary', this.#rolling],
      ] as const) {
        await client.create(PATHS.configs, machineConfig({ name: config }));
        await client.create(PATHS.pools, pool({ name, spec: config }));
        await client.patch(`${PATHS.pools}/${name}/status`, poolStatus(config));
      }
      const configsOf = (index: number) => {
        const config = index < this.#rollingNodes ? this.#rolling : this.#worker;
        return { currentConfig: config, desiredConfig: config };
      };
      await createFleet(client, { to: this.#nodes, configsOf });
    });
  }

  /** Goes on until {@link stop}. Rejects where the API server refuses what it must not. */
  async run(): Promise<void> {
    await Promise.all([
      this.#withClient((client) => this.#kubelets(client)),
      this.#withClient((client) => this.#rollouts(client)),
      this.#withClient((client) => this.#every(USED_EVERY_MS, () => this.#deleteUsed(client, this.#worker))),
      this.#withClient((client) => this.#every(FREE_EVERY_MS, () => this.#deleteFree(client))),
    ]);
  }

  stop(): void {
    this.#stopping = true;
  }

  async #withClient(work: (client: KubeClient) => Promise<void>): Promise<void> {
    const client = new KubeClient(this.#connection.admin);
    try {
      await work(client);
    } finally {
      client.close();
    }
  }

  /** Calls in a steady rhythm: what took long is followed at once, so that the rate is the one that was promised. */
  async #every(ms: number, once: () => Promise<void>): Promise<void> {
    for (let next = performance.now() + ms; !this.#stopping; next += ms) {
      await once();
      await pause(Math.max(0, next - performance.now()));
    }
  }

  async #kubelets(client: KubeClient): Promise<void> {
    let index = 0;
    await this.#every((STATUS_EVERY_S * 1_000) / this.#nodes, async () => {
      const heartbeat = { type: 'Ready', status: 'True', lastHeartbeatTime: new Date().toISOString() };
      const path = `${PATHS.nodes}/${nodeName(index)}/status`;
      const body = { status: { conditions: [heartbeat] } };
      const contentType = 'application/strategic-merge-patch+json';
      const response = await client.request('PATCH', path, body, { query: { fieldManager: 'kubelet' }, contentType });
      expectStatus(response, [200], `PATCH ${path}`);
      this.tally.statuses += 1;
      index = (index + 1) % this.#nodes;
    });
  }

  /**
   * One after the other, as the operator does: a new config, the pool, node by node, and at last the old config goes. The pool's
   * status names the old one until then, so that both are in use all the time.
   */
  async #rollouts(client: KubeClient): Promise<void> {
    while (!this.#stopping) {
      const [old, next] = [this.#rolling, renderedName('canary')];
      await client.create(PATHS.configs, machineConfig({ name: next }));
      await client.patch(`${PATHS.pools}/canary`, { spec: { configuration: { name: next } } });
      for (let index = 0; index < this.#rollingNodes; index += 1) {
        if (this.#stopping) return;
        const path = `${PATHS.nodes}/${nodeName(index)}`;
        await client.patch(path, nodeConfigPatch({ desiredConfig: next }));
        await this.#deleteUsed(client, next);
        await client.patch(path, nodeConfigPatch({ currentConfig: next }));
        await this.#deleteUsed(client, old);
        await pause(NEXT_NODE_MS);
      }
      await client.patch(`${PATHS.pools}/canary/status`, poolStatus(next));
      this.#rolling = next;
      this.#judge('free', old, await client.delete(`${PATHS.configs}/${old}`));
      this.tally.rollouts += 1;
    }
  }

  async #deleteUsed(client: KubeClient, config: string): Promise<void> {
    this.#judge('used', config, await client.delete(`${PATHS.configs}/${config}`));
  }

  async #deleteFree(client: KubeClient): Promise<void> {
    const name = renderedName('free');
    await client.create(PATHS.configs, machineConfig({ name }));
    this.#judge('free', name, await client.delete(`${PATHS.configs}/${name}`));
  }

  #judge(about: 'used' | 'free', config: string, response: KubeResponse): void {
    const { message = '' } = statusOf(response);
    if (about === 'used' && response.status === 403 && message.includes('MCG_IN_USE')) this.tally.refused += 1;
    else if (about === 'free' && response.status === 200) this.tally.deleted += 1;
    else if (response.status >= 500) this.tally.undecided += 1;
    else this.tally.wrong.push(`${config} (${about}): ${response.status} ${message}`);
  }
}

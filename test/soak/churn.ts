import { createFleet, nodeName } from '../bench/fleet.ts';
import { expectStatus, type KubeClient, statusOf } from '../e2e/control-plane/kube-client.ts';
import { pause } from '../e2e/control-plane/until.ts';
import { isDeniedInUse } from '../e2e/support/cluster.ts';
import { machineConfig, nodeConfigPatch, pool, poolStatus, renderedName } from '../e2e/support/objects.ts';
import { PATHS } from '../e2e/support/paths.ts';

/**
 * The interval of a kubelet (kubernetes, pkg/kubelet/apis/config/v1beta1/defaults.go,
 * nodeStatusReportFrequency). Its heartbeat is a Lease, which the guard does not watch.
 */
const STATUS_INTERVAL_MS = 300_000;
/** This part of the nodes rolls out one config after another. */
const ROLLING_SHARE = 0.02;
/** The pause between two nodes of a rollout. */
const NEXT_NODE_MS = 500;
/** The time between two deletions of configs in use, and of unused configs. */
const USED_INTERVAL_MS = 1_000;
const UNUSED_INTERVAL_MS = 4_000;

/** The usual work of a healthy cluster: kubelets report, pools roll out, and old configs are deleted. */
export class Churn {
  readonly tally = {
    /** Deletions of configs in use that were denied for this reason. */
    denied: 0,
    /** Deletions of unused configs that succeeded. */
    allowed: 0,
    /** Deletions that the guard denied because it was late or could not read the cluster. */
    undecided: 0,
    /** All other answers. */
    wrong: [] as string[],
    statuses: 0,
    rollouts: 0,
  };
  readonly #admin: KubeClient;
  readonly #nodes: number;
  readonly #rollingNodes: number;
  #workerConfig = '';
  #rollingConfig = '';
  #isStopping = false;

  constructor(admin: KubeClient, nodes: number) {
    this.#admin = admin;
    this.#nodes = nodes;
    this.#rollingNodes = Math.max(3, Math.round(nodes * ROLLING_SHARE));
  }

  /** Creates two pools, their configs and the nodes. */
  async prepare(): Promise<void> {
    this.#workerConfig = await this.#createPool('worker');
    this.#rollingConfig = await this.#createPool('canary');
    const from = this.#rollingNodes;
    await createFleet(this.#admin, { to: from, configs: [this.#rollingConfig] });
    await createFleet(this.#admin, { from, to: this.#nodes, configs: [this.#workerConfig] });
  }

  /** Runs until {@link stop}. Throws if a write fails. */
  async run(): Promise<void> {
    await Promise.all([
      this.#repeat(STATUS_INTERVAL_MS / this.#nodes, () => this.#writeStatus()),
      this.#repeat(0, () => this.#rollOut()),
      this.#repeat(USED_INTERVAL_MS, () => this.#delete(this.#workerConfig, 'denied')),
      this.#repeat(UNUSED_INTERVAL_MS, async () => {
        await this.#delete(await this.#createConfig('unused'), 'allowed');
      }),
    ]);
  }

  stop(): void {
    this.#isStopping = true;
  }

  /** Calls a function at a fixed rate. After a slow call the next ones follow immediately. */
  async #repeat(intervalMs: number, work: () => Promise<void>): Promise<void> {
    for (let next = performance.now() + intervalMs; !this.#isStopping; next += intervalMs) {
      await work();
      await pause(Math.max(0, next - performance.now()));
    }
  }

  async #createConfig(poolName: string): Promise<string> {
    const name = renderedName(poolName);
    await this.#admin.create(PATHS.configs, machineConfig({ name }));
    return name;
  }

  /** Returns its config. */
  async #createPool(name: string): Promise<string> {
    const config = await this.#createConfig(name);
    await this.#admin.create(PATHS.pools, pool({ name, spec: config }));
    await this.#admin.patch(`${PATHS.pools}/${name}/status`, poolStatus(config));
    return config;
  }

  async #writeStatus(): Promise<void> {
    const heartbeat = { type: 'Ready', status: 'True', lastHeartbeatTime: new Date().toISOString() };
    const path = `${PATHS.nodes}/${nodeName(this.tally.statuses % this.#nodes)}/status`;
    const body = { status: { conditions: [heartbeat] } };
    const contentType = 'application/strategic-merge-patch+json';
    const extras = { query: { fieldManager: 'kubelet' }, contentType };
    expectStatus(await this.#admin.request('PATCH', path, body, extras), [200], `PATCH ${path}`);
    this.tally.statuses += 1;
  }

  /**
   * Rolls out a new config as the operator does. The old one stays in use until the end, by the pool's
   * status.
   */
  async #rollOut(): Promise<void> {
    const old = this.#rollingConfig;
    const next = await this.#createConfig('canary');
    await this.#admin.patch(`${PATHS.pools}/canary`, { spec: { configuration: { name: next } } });
    for (let index = 0; index < this.#rollingNodes; index += 1) {
      if (this.#isStopping) return;
      const path = `${PATHS.nodes}/${nodeName(index)}`;
      await this.#admin.patch(path, nodeConfigPatch({ desiredConfig: next }));
      await this.#delete(next, 'denied');
      await this.#admin.patch(path, nodeConfigPatch({ currentConfig: next }));
      await this.#delete(old, 'denied');
      await pause(NEXT_NODE_MS);
    }
    await this.#admin.patch(`${PATHS.pools}/canary/status`, poolStatus(next));
    this.#rollingConfig = next;
    await this.#delete(old, 'allowed');
    this.tally.rollouts += 1;
  }

  async #delete(config: string, expected: 'denied' | 'allowed'): Promise<void> {
    const response = await this.#admin.delete(`${PATHS.configs}/${config}`);
    const { status } = response;
    if (expected === 'denied' ? isDeniedInUse(response) : status === 200) this.tally[expected] += 1;
    else if (status >= 500) this.tally.undecided += 1;
    else this.tally.wrong.push(`${config} was not ${expected}: ${status} ${statusOf(response).message}`);
  }
}

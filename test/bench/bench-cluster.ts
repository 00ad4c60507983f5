import { Cluster } from '../e2e/support/cluster.ts';
import type { GuardedCluster } from '../e2e/support/guarded-cluster.ts';
import { renderedName } from '../e2e/support/objects.ts';
import { createFleet } from './fleet.ts';

/** A real control plane, a guard, and a fleet of nodes that grows. */
export class BenchCluster extends Cluster {
  readonly guarded: GuardedCluster;
  readonly log: (line: string) => void;
  #nodeCount = 0;

  constructor(guarded: GuardedCluster, log: (line: string) => void) {
    super(guarded.connection);
    this.guarded = guarded;
    this.log = log;
  }

  /** Creates nodes until there are this many. The new ones name two of these configs each. */
  async growFleet(nodeCount: number, configs: readonly string[]): Promise<void> {
    this.log(`Creating ${nodeCount} nodes …`);
    await createFleet(this.admin, { from: this.#nodeCount, to: nodeCount, configs });
    this.#nodeCount = nodeCount;
  }

  async createPools(): Promise<void> {
    for (const name of ['master', 'worker', 'infra']) await this.pool({ name, spec: renderedName(name) });
  }
}

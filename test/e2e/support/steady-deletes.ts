import { KubeClient, statusOf, type KubeResponse } from '../control-plane/kube-client.ts';
import { pause } from '../control-plane/until.ts';
import { unique, type Cluster } from './cluster.ts';
import { machineConfig, renderedName } from './objects.ts';
import { PATHS } from './paths.ts';

/** One deletion that somebody asked for while something else was going on. */
export interface Asked {
  /** Milliseconds since the load began. */
  readonly at: number;
  readonly ms: number;
  /** `used`: must be refused. `free`: must go. */
  readonly about: 'used' | 'free';
  /** `right`: decided as it must be. `failed`: nobody decided, nothing was deleted. `wrong`: anything else. */
  readonly came: 'right' | 'failed' | 'wrong';
  readonly status: number;
  readonly message: string;
}

/** How hard they try. */
export interface Steadiness {
  readonly clients: number;
  /** Between two deletions of one client. */
  readonly pauseMs: number;
}

const BUSY: Steadiness = { clients: 4, pauseMs: 15 };

/**
 * Deletions that go on while something happens to the guard: by several clients, of configs that a node uses and of configs that
 * nothing uses, for real, not as dry runs.
 */
export class SteadyDeletes {
  readonly asked: Asked[] = [];
  readonly #begun = performance.now();
  readonly #cluster: Cluster;
  readonly #clients: readonly Promise<void>[];
  #stopping = false;

  private constructor(cluster: Cluster, { clients, pauseMs }: Steadiness) {
    this.#cluster = cluster;
    this.#clients = Array.from({ length: clients }, () => this.#client(pauseMs));
  }

  static start(cluster: Cluster, steadiness = BUSY): SteadyDeletes {
    return new SteadyDeletes(cluster, steadiness);
  }

  /** The time on the scale of {@link Asked.at}. */
  get now(): number {
    return performance.now() - this.#begun;
  }

  /** Those that did not come as they must. */
  get faults(): readonly Asked[] {
    return this.asked.filter(({ came }) => came !== 'right');
  }

  /** Waits until this many more were asked. */
  async more(count: number): Promise<void> {
    const until = this.asked.length + count;
    while (this.asked.length < until) await pause(20);
  }

  async stop(): Promise<readonly Asked[]> {
    this.#stopping = true;
    await Promise.all(this.#clients);
    return this.asked;
  }

  async #client(pauseMs: number): Promise<void> {
    // A connection of its own: the API server spreads its calls over as many of its own.
    const client = new KubeClient(this.#cluster.connection.admin);
    const used = await this.#cluster.config();
    await this.#cluster.node({ name: unique('steady'), currentConfig: used });
    while (!this.#stopping) {
      await this.#ask(client, used, 'used');
      const free = renderedName('steady');
      await client.create(PATHS.configs, machineConfig({ name: free }));
      await this.#ask(client, free, 'free');
      await pause(pauseMs);
    }
    client.close();
  }

  async #ask(client: KubeClient, config: string, about: Asked['about']): Promise<void> {
    const at = this.now;
    const response = await client.delete(`${PATHS.configs}/${config}`);
    const { message = '' } = statusOf(response);
    this.asked.push({
      at,
      ms: response.ms,
      about,
      came: judged(about, response, message),
      status: response.status,
      message,
    });
  }
}

function judged(about: Asked['about'], response: KubeResponse, message: string): Asked['came'] {
  if (about === 'free' && response.status === 200) return 'right';
  if (about === 'used' && response.status === 403 && message.includes('MCG_IN_USE')) return 'right';
  // Refused by the API server because nobody answered, or by the guard because it could not find out.
  return response.status >= 500 ? 'failed' : 'wrong';
}

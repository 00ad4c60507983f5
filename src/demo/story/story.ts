import type { ApiServer } from '../cluster/api-server.ts';
import type { InMemoryCluster } from '../cluster/in-memory-cluster.ts';
import type { StatusError } from '../cluster/status-error.ts';
import { StoryClock } from './story-clock.ts';

export type ActorName =
  'hosts' | 'bootstrap' | 'operator' | 'daemon' | 'clean-up' | 'installer' | 'etcd' | 'install';

type Refusal = Pick<StatusError, 'code' | 'reason' | 'message'>;

export interface StoryEvent {
  /** Simulated seconds since the hosts were switched on. */
  readonly t: number;
  readonly actor: ActorName;
  readonly message: string;
  /** The answer to a denied request. */
  readonly refusal?: Refusal;
}

export interface StoryOptions {
  readonly cluster: InMemoryCluster;
  readonly server: Pick<ApiServer, 'start' | 'stop'>;
  /** Simulated seconds in a real second. */
  readonly speed: number;
  readonly onEvent?: (event: StoryEvent) => void;
}

export class Story {
  readonly cluster: InMemoryCluster;
  readonly clock: StoryClock;
  readonly events: StoryEvent[] = [];
  /** After an outage clients reconnect and sync again. */
  outageCount = 0;
  isApiUp = true;
  readonly #options: StoryOptions;

  constructor(options: StoryOptions) {
    this.#options = options;
    this.cluster = options.cluster;
    this.clock = new StoryClock(options.speed);
  }

  record(actor: ActorName, message: string, refusal?: Refusal): void {
    const event = { t: this.clock.now, actor, message, ...(refusal === undefined ? {} : { refusal }) };
    this.events.push(event);
    this.#options.onEvent?.(event);
  }

  async stopApiFor(seconds: number): Promise<void> {
    const { server } = this.#options;
    this.isApiUp = false;
    await this.clock.pauseDuring(server.stop());
    await this.clock.sleep(seconds);
    await this.clock.pauseDuring(server.start());
    this.outageCount += 1;
    this.isApiUp = true;
  }
}

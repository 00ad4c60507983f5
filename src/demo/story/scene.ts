import type { InMemoryCluster } from '../cluster/in-memory-cluster.ts';
import type { StoryClock } from './story-clock.ts';

/** Who a line of the story is about. */
export type ActorName = 'hosts' | 'bootstrap' | 'operator' | 'daemon' | 'clean-up' | 'installer' | 'etcd' | 'install';

/** The Status with which the API server refused something. */
export interface Refusal {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
}

/** One line of the story. */
export interface StoryEvent {
  /** Simulated seconds since the hosts were switched on. */
  readonly t: number;
  readonly actor: ActorName;
  readonly message: string;
  /** What the API answered, word by word, where the line is about a request that was refused. */
  readonly refusal?: Refusal;
}

/** What the actors share: the cluster, the time, and somebody who writes down what they do. */
export class Scene {
  readonly sandbox: InMemoryCluster;
  readonly clock: StoryClock;
  readonly events: StoryEvent[] = [];
  readonly #onEvent: (event: StoryEvent) => void;
  #connections = 1;
  #apiAnswers = true;

  constructor(sandbox: InMemoryCluster, clock: StoryClock, onEvent: (event: StoryEvent) => void) {
    this.sandbox = sandbox;
    this.clock = clock;
    this.#onEvent = onEvent;
  }

  /** Can anybody read or write the cluster? */
  get apiAnswers(): boolean {
    return this.#apiAnswers;
  }

  /** How often clients had to connect: who sees it change has to look at everything again. */
  get connections(): number {
    return this.#connections;
  }

  /** Writes a line. */
  say(actor: ActorName, message: string, refusal?: Refusal): void {
    const event = { t: this.clock.now, actor, message, ...(refusal === undefined ? {} : { refusal }) };
    this.events.push(event);
    this.#onEvent(event);
  }

  /** The API server goes away for some simulated seconds: connections break and new ones are refused. */
  async apiAwayFor(seconds: number): Promise<void> {
    const { faults } = this.sandbox;
    this.#apiAnswers = false;
    await this.clock.outside(faults.goDown());
    await this.clock.sleep(seconds);
    await this.clock.outside(faults.comeUp());
    this.#connections += 1;
    this.#apiAnswers = true;
  }
}

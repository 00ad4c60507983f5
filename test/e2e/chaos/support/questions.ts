import { KubeClient, statusOf, type KubeClientOptions } from '../../control-plane/kube-client.ts';
import { pause, until } from '../../control-plane/until.ts';
import { unique } from '../../support/cluster.ts';
import { machineConfig, node, nodeConfigPatch, renderedName } from '../../support/objects.ts';
import { PATHS } from '../../support/paths.ts';
import { answerOf, type Answer } from './answer.ts';

/**
 * `used`: a node has named it all along. `moved`: a node was told to use it a moment ago, and the API server has acknowledged that. `free`:
 * nothing names it.
 */
export type Subject = 'used' | 'moved' | 'free';

/** One question and what came of it. */
export interface Asked {
  readonly about: Subject;
  readonly answer: Answer;
  readonly message: string;
  /** When it was sent and answered: milliseconds on the scale of `performance.now()`. */
  readonly sentAt: number;
  readonly answeredAt: number;
}

const SUBJECTS: readonly Subject[] = ['used', 'moved', 'free'];
/** What they get when nothing is the matter. */
export const RIGHT: Readonly<Record<Subject, Answer>> = { used: 'in use', moved: 'in use', free: 'let go' };
const RIGHT_TIMEOUT_MS = 120_000;

/** In use, by an acknowledged write, and let go. */
export function isWronglyLetGo({ about, answer }: Asked): boolean {
  return about !== 'free' && answer === 'let go';
}

/** Not used by anybody, and said to be. */
export function isWronglyInUse({ about, answer }: Asked): boolean {
  return about === 'free' && answer === 'in use';
}

/** Questions are sent whether or not those before them have been answered, as by people who know nothing of each other. */
const EVERY_MS = 250;
const MOVERS = 2;
const MOVE_PAUSE_MS = 50;
/** Longer than the webhook may take, shorter than patience. */
const GIVE_UP_MS = 12_000;

/** Dry-run deletions, steadily: of a config in use, of a free one, and of those that nodes have just been moved to. */
export class Questions {
  readonly asked: Asked[] = [];
  /** Which configs are used and free: may be changed while nothing is asked. */
  configs: { readonly used: string; readonly free: string };
  /** The node that names the one in use. */
  readonly node: string;
  readonly #client: KubeClient;
  readonly #underWay = new Set<Promise<void>>();
  #asking = false;
  #loops: readonly Promise<void>[] = [];

  private constructor(client: KubeClient, node: string, configs: { readonly used: string; readonly free: string }) {
    this.#client = client;
    this.node = node;
    this.configs = configs;
  }

  /** Asks this API server, once {@link start} is called. */
  static async prepare(connection: KubeClientOptions): Promise<Questions> {
    const client = new KubeClient(connection);
    const [used, free] = [await newConfig(client), await newConfig(client)];
    const name = unique('steady');
    await client.create(PATHS.nodes, node({ name, currentConfig: used }));
    return new Questions(client, name, { used, free });
  }

  /** Begins, or goes on after {@link stop}. */
  start(): void {
    this.#asking = true;
    this.#loops = [this.#askSteadily(), ...Array.from({ length: MOVERS }, () => this.#moveAndAsk())];
  }

  /** When each question sent since then had been answered rightly so many times; at once where one was answered wrongly: that is all there is to know. */
  async untilRight(since: number, times = 1): Promise<number> {
    return until(
      () => `the right answer to each question; the last ones were ${JSON.stringify(this.asked.slice(-4), null, 1)}`,
      async () => {
        if (this.asked.some((one) => isWronglyLetGo(one) || isWronglyInUse(one))) return performance.now();
        const last = Math.max(...SUBJECTS.map((subject) => this.#rightAt(subject, since, times)));
        return Number.isNaN(last) ? undefined : last;
      },
      { timeoutMs: RIGHT_TIMEOUT_MS, everyMs: 50 },
    );
  }

  #rightAt(subject: Subject, since: number, times: number): number {
    const right = this.asked.filter(
      ({ about, answer, sentAt }) => about === subject && sentAt >= since && answer === RIGHT[subject],
    );
    return right[times - 1]?.answeredAt ?? Number.NaN;
  }

  /** Asks nothing more; returns once all that was asked is answered or given up. */
  async stop(): Promise<void> {
    this.#asking = false;
    await Promise.all(this.#loops);
    await Promise.all(this.#underWay);
  }

  close(): void {
    this.#client.close();
  }

  async #askSteadily(): Promise<void> {
    while (this.#asking) {
      const { used, free } = this.configs;
      this.#later(this.#ask('used', used));
      this.#later(this.#ask('free', free));
      await pause(EVERY_MS);
    }
  }

  #later(question: Promise<void>): void {
    this.#underWay.add(question);
    void question.then(() => this.#underWay.delete(question));
  }

  /** Whoever decides by what he knew a moment ago is found out here. */
  async #moveAndAsk(): Promise<void> {
    let name: string | undefined;
    let [target, other] = ['', ''];
    while (this.#asking) {
      try {
        if (name === undefined) {
          [target, other] = [await newConfig(this.#client), await newConfig(this.#client)];
          const mover = unique('mover');
          await this.#client.create(PATHS.nodes, node({ name: mover, currentConfig: other }));
          name = mover;
        }
        const patch = nodeConfigPatch({ currentConfig: target });
        const { status } = await this.#client.request('PATCH', `${PATHS.nodes}/${name}`, patch, {
          contentType: 'application/merge-patch+json',
          timeoutMs: GIVE_UP_MS,
        });
        if (status === 200) {
          await this.#ask('moved', target);
          [target, other] = [other, target];
        }
      } catch {
        // Not acknowledged, so nothing is known and nothing is asked. The next attempt writes the same.
      }
      await pause(MOVE_PAUSE_MS);
    }
  }

  async #ask(about: Subject, config: string): Promise<void> {
    const sentAt = performance.now();
    const asked = (answer: Answer, message: string) =>
      this.asked.push({ about, answer, message, sentAt, answeredAt: performance.now() });
    try {
      const query = { dryRun: 'All' };
      const path = `${PATHS.configs}/${config}`;
      const response = await this.#client.request('DELETE', path, undefined, { query, timeoutMs: GIVE_UP_MS });
      asked(answerOf(response), statusOf(response).message ?? '');
    } catch (error) {
      asked('no answer', String(error));
    }
  }
}

async function newConfig(client: KubeClient): Promise<string> {
  const name = renderedName('chaos');
  await client.create(PATHS.configs, machineConfig({ name }));
  return name;
}

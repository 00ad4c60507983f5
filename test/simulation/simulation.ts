import { pino } from 'pino';
import { vi } from 'vitest';
import { toConfigName } from '../../src/decision/config-name.ts';
import type { Referrer } from '../../src/decision/references.ts';
import type { Review } from '../../src/decision/review.ts';
import { type Mode, MODES } from '../../src/decision/settings.ts';
import { Judge } from '../../src/guard/judge.ts';
import type { KubeApi } from '../../src/kube/api.ts';
import type { KnownVersions } from '../../src/references/live-read.ts';
import { LiveReader } from '../../src/references/live-reader.ts';
import { ReferrersByConfig } from '../../src/references/referrers-by-config.ts';
import type { Judgement } from '../../src/webhook/judgement.ts';
import { ClusterModel } from './cluster-model.ts';
import { Random } from './random.ts';
import { SimulatedApi } from './simulated-api.ts';

const REPLICAS = 2;
const MAX_CONCURRENT_DELETIONS = 12;
const DEADLINE_MS = 3_800;
const FAILURE_RATES = [0, 0, 0.05, 0.3, 1] as const;
const TIME_STEPS_MS = [0, 0, 0, 0, 1, 10, 120, 400, 1_100] as const;

/** The real one. The test replaces the global later. */
const realSetImmediate = setImmediate;

export interface SimulationResult {
  readonly seed: number;
  readonly steps: number;
  /** Denials by code, allowed deletions, deleted configs and crashes. */
  readonly counts: Readonly<Record<string, number>>;
  /** The first wrong answer, which ends the run. */
  readonly violation: { readonly step: number; readonly message: string } | undefined;
}

/** Creates the live reader of a replica, real or broken. */
export type CreateReader = (
  api: KubeApi,
  index: KnownVersions & { readonly referrers: () => Iterable<Referrer> },
) => Pick<LiveReader, 'read'>;

interface Replica {
  readonly api: SimulatedApi;
  /** From its watches. Each object can be older than in the cluster. */
  readonly referrers: Map<string, Referrer>;
  readonly index: ReferrersByConfig;
  /** The version of the cluster when a watch last delivered something. */
  version?: string;
  readonly judge: Judge;
}

interface Deletion {
  readonly config: string;
  /** The step in which the API server sent the review. */
  readonly sentAt: number;
  readonly replica: Replica;
  readonly timer: ReturnType<typeof setTimeout>;
  judgement?: Judgement;
  /** The replica crashed, and the API server denies the deletion. */
  isLost?: true;
}

/**
 * Runs the real Judge and LiveReader against a cluster in which a seed chooses the order of everything. The
 * caller enables `vi.useFakeTimers`.
 */
export class Simulation {
  readonly #seed: number;
  readonly #random: Random;
  readonly #model: ClusterModel;
  readonly #createReader: CreateReader;
  readonly #replicas: Replica[];
  readonly #deletions: Deletion[] = [];
  readonly #counts: Record<string, number> = {};
  #mode: Mode = 'Enforce';
  #modeSince = 0;
  #step = 0;
  #violation: SimulationResult['violation'];

  constructor(
    seed: number,
    createReader: CreateReader = (api, versions) => new LiveReader({ api, versions }),
  ) {
    this.#seed = seed;
    this.#random = new Random(seed);
    // The pauses between retries are random, too.
    vi.spyOn(Math, 'random').mockImplementation(() => this.#random.next());
    this.#model = new ClusterModel(this.#random);
    this.#createReader = createReader;
    this.#replicas = Array.from({ length: REPLICAS }, () => this.#createReplica());
  }

  /** Takes steps up to a violation. Then checks that an unused config can be deleted. */
  async run(steps: number): Promise<SimulationResult> {
    while (this.#step < steps && this.#violation === undefined) {
      this.#step += 1;
      this.#takeStep();
      await runPendingCallbacks();
      const finished = this.#deletions.filter(
        ({ judgement, isLost }) => judgement !== undefined || isLost,
      );
      for (const deletion of finished) this.#finishDeletion(deletion);
    }
    for (const { timer } of this.#deletions.splice(0)) clearTimeout(timer);
    if (this.#violation === undefined) await this.#checkThatUnusedConfigIsAllowed();
    return { seed: this.#seed, steps: this.#step, counts: this.#counts, violation: this.#violation };
  }

  #takeStep(): void {
    const number = this.#random.next();
    if (number < 0.55) this.#random.pick(this.#replicas).api.step();
    else if (number < 0.7) this.#model.writeOnce(this.#step);
    else if (number < 0.8) this.#requestDeletion();
    else if (number < 0.9) this.#deliverEvent();
    else if (number < 0.996) vi.advanceTimersByTime(this.#random.pick(TIME_STEPS_MS));
    else if (number < 0.998)
      this.#random.pick(this.#replicas).api.failureRate = this.#random.pick(FAILURE_RATES);
    else if (number < 0.999) this.#crash();
    else this.#switchMode();
  }

  /** A watch delivers one object. The others stay as old as they are. */
  #deliverEvent(): void {
    const replica = this.#random.pick(this.#replicas);
    const referrer = this.#random.pick(this.#model.referrers());
    const key = `${referrer.kind} ${referrer.name}`;
    replica.index.update(replica.referrers.get(key), referrer);
    replica.referrers.set(key, referrer);
    replica.version = String(this.#model.cluster.store.version);
  }

  #switchMode(): void {
    this.#mode = this.#mode === 'Enforce' ? this.#random.pick(MODES) : 'Enforce';
    this.#modeSince = this.#step;
  }

  #crash(): void {
    const index = this.#random.below(REPLICAS);
    const crashed = this.#replicas[index];
    this.#count('crashes');
    for (const deletion of this.#deletions) if (deletion.replica === crashed) deletion.isLost = true;
    this.#replicas[index] = this.#createReplica();
    crashed?.api.reset();
  }

  #createReplica(): Replica {
    const api = new SimulatedApi(this.#model.cluster, this.#random);
    const client = api as unknown as KubeApi;
    const referrers = new Map<string, Referrer>();
    const index = new ReferrersByConfig();
    const judge = new Judge({
      api: client,
      index: { findReferrers: index.find.bind(index) },
      configs: { isIndexed: () => true, find: async () => await Promise.resolve({ state: 'exists' }) },
      live: this.#createReader(client, {
        referrers: () => referrers.values(),
        newestVersion: () => replica.version,
        checkVersions: () => {
          throw new Error('the versions of this cluster never go back');
        },
      }),
      settings: () => ({ mode: this.#mode, holdSupersededMs: 0 }),
      log: pino({ level: 'silent' }),
    });
    const replica: Replica = { api, referrers, index, judge };
    return replica;
  }

  #requestDeletion(): void {
    if (this.#deletions.length >= MAX_CONCURRENT_DELETIONS) return;
    const config = this.#random.pick([...this.#model.configs]);
    const replica = this.#random.pick(this.#replicas);
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(new DOMException('', 'TimeoutError')), DEADLINE_MS);
    const deletion: Deletion = { config, sentAt: this.#step, replica, timer };
    this.#deletions.push(deletion);
    void replica.judge.judge(toReview(config, this.#step), deadline.signal).then((judgement) => {
      deletion.judgement = judgement;
    });
  }

  #finishDeletion(deletion: Deletion): void {
    const { config, sentAt, timer, judgement, isLost } = deletion;
    clearTimeout(timer);
    this.#deletions.splice(this.#deletions.indexOf(deletion), 1);
    if (isLost === true || judgement === undefined) return;
    const { code, denialStatus } = judgement.verdict;
    if (denialStatus !== undefined) {
      this.#count(code);
      if (code === 'MCG_IN_USE' && !this.#model.wasInUseAtSomeTime(config, sentAt)) {
        this.#violate(`${config} was denied as in use, and was unused the whole time`);
      }
      return;
    }
    this.#count('allowed');
    // The other modes promise nothing.
    const isEnforced = this.#mode === 'Enforce' && this.#modeSince < sentAt;
    if (isEnforced && this.#model.wasInUseThroughout(config, sentAt)) {
      this.#violate(`${config} was allowed, and was in use the whole time`);
    } else if (!this.#model.isInUse(config) && this.#model.configs.delete(config)) {
      // The cluster keeps a config that came into use after the review.
      this.#count('deleted');
    }
  }

  /** A guard that denies every deletion would be safe and useless. */
  async #checkThatUnusedConfigIsAllowed(): Promise<void> {
    this.#mode = 'Enforce';
    const { api, judge } = this.#createReplica();
    const config = [...this.#model.configs].find((name) => !this.#model.isInUse(name));
    if (config === undefined) return;
    const codes: string[] = [];
    const { signal } = new AbortController();
    void judge.judge(toReview(config, this.#step), signal).then(({ verdict }) => codes.push(verdict.code));
    for (let turn = 0; turn < 200 && codes.length === 0; turn += 1) {
      api.step();
      vi.advanceTimersByTime(1);
      await runPendingCallbacks();
    }
    const [code = 'missing'] = codes;
    if (code !== 'MCG_NOT_IN_USE') this.#violate(`${config} is unused, and the answer is ${code}`);
  }

  #count(event: string): void {
    this.#counts[event] = (this.#counts[event] ?? 0) + 1;
  }

  #violate(message: string): void {
    this.#violation ??= { step: this.#step, message };
  }
}

async function runPendingCallbacks(): Promise<void> {
  await new Promise((resolve) => {
    realSetImmediate(resolve);
  });
}

function toReview(config: string, step: number): Review {
  const reviewed = { name: toConfigName(config), uid: `uid-${step}` };
  return { uid: `review-${step}`, isDryRun: false, user: 'somebody', config: reviewed };
}

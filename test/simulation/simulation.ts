import { pino } from 'pino';
import { vi } from 'vitest';
import { toConfigName } from '../../src/decision/config-name.ts';
import type { Referrer } from '../../src/decision/references.ts';
import type { Review } from '../../src/decision/review.ts';
import { MODES, type Settings } from '../../src/decision/settings.ts';
import type { Change } from '../../src/demo/cluster/in-memory-cluster.ts';
import { Judge } from '../../src/guard/judge.ts';
import type { KubeApi } from '../../src/kube/api.ts';
import type { KnownVersions } from '../../src/references/live-read.ts';
import { LiveReader } from '../../src/references/live-reader.ts';
import { ReferrersByConfig } from '../../src/references/referrers-by-config.ts';
import { REFERRER_RESOURCES } from '../../src/references/sources.ts';
import type { JudgedReview } from '../../src/webhook/judged-review.ts';
import { ClusterModel } from './cluster-model.ts';
import { Random } from './random.ts';
import { SimulatedApi } from './simulated-api.ts';

const START = new Date('2026-01-01T00:00:00Z');
const REPLICAS = 2;
const MAX_CONCURRENT_DELETIONS = 12;
const DEADLINE_MS = 3_800;
const FAILURE_RATES = [0, 0, 0.05, 0.3, 1] as const;
const HOLDS_MS = [0, 500, 3_000] as const;
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

/**
 * Creates the live reader of a replica, real or broken.
 *
 * @param configs the creation times of the configs
 */
export type CreateReader = (
  api: KubeApi,
  index: KnownVersions & { readonly referrers: () => Iterable<Referrer> },
  configs: ReadonlyMap<string, Date>,
) => Pick<LiveReader, 'read'>;

interface Replica {
  readonly api: SimulatedApi;
  /** From its watches. They can be late. */
  readonly watches: readonly Watch[];
  readonly index: ReferrersByConfig;
  readonly judge: Judge;
  stop(): void;
}

/** What one watch has delivered, and what it has not. */
interface Watch {
  readonly resource: (typeof REFERRER_RESOURCES)[number];
  readonly referrers: Map<string, Referrer>;
  readonly changes: Change[];
  version?: string;
}

interface Deletion {
  readonly config: string;
  /** The step in which the API server sent the review. */
  readonly sentAt: number;
  /** When a pool last named the config before the review, in milliseconds. */
  readonly servedUntil: number;
  readonly replica: Replica;
  readonly timer: ReturnType<typeof setTimeout>;
  judgement?: JudgedReview;
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
  #settings: Settings = { mode: 'Enforce', holdSupersededMs: 0 };
  /** The step since which they are in force. */
  #settingsSince = 0;
  #step = 0;
  #violation: SimulationResult['violation'];

  constructor(seed: number, createReader: CreateReader = (api, versions) => new LiveReader({ api, versions })) {
    this.#seed = seed;
    this.#random = new Random(seed);
    // The pauses between retries are random, too.
    vi.spyOn(Math, 'random').mockImplementation(() => this.#random.next());
    // The API server cuts the fractions of its times, so the start has an effect.
    vi.setSystemTime(START);
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
      const finished = this.#deletions.filter(({ judgement, isLost }) => judgement !== undefined || isLost);
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
    else if (number < 0.9) this.#deliverEvents();
    else if (number < 0.994) vi.advanceTimersByTime(this.#random.pick(TIME_STEPS_MS));
    else if (number < 0.996) this.#random.pick(this.#replicas).api.failureRate = this.#random.pick(FAILURE_RATES);
    else if (number < 0.999) this.#crash();
    else this.#changeSettings();
  }

  /** A watch delivers some changes, or lists again and misses those since the last one. */
  #deliverEvents(): void {
    const replica = this.#random.pick(this.#replicas);
    const watch = this.#random.pick(replica.watches);
    const { changes, referrers, resource } = watch;
    if (watch.version === undefined || this.#random.chance(0.01)) {
      this.#list(replica, watch);
      return;
    }
    for (const { type, object } of changes.splice(0, 1 + this.#random.below(changes.length))) {
      const { name } = object.metadata;
      const before = referrers.get(name);
      const after = type === 'DELETED' ? undefined : resource.parse(object);
      if (after === undefined) referrers.delete(name);
      else referrers.set(name, after);
      replica.index.update(before, after);
      watch.version = object.metadata.resourceVersion;
    }
  }

  #list(replica: Replica, watch: Watch): void {
    const { changes, referrers, resource } = watch;
    changes.length = 0;
    const listed = this.#model.cluster.list(resource.name).map(resource.parse);
    for (const [name, before] of referrers) {
      if (listed.some((referrer) => referrer.name === name)) continue;
      referrers.delete(name);
      replica.index.update(before, undefined);
    }
    for (const after of listed) {
      const before = referrers.get(after.name);
      referrers.set(after.name, after);
      replica.index.update(before, after);
    }
    watch.version = String(this.#model.cluster.version);
  }

  #changeSettings(): void {
    const { mode } = this.#settings;
    this.#settings = {
      mode: mode === 'Enforce' && this.#random.chance(0.5) ? this.#random.pick(MODES) : 'Enforce',
      holdSupersededMs: this.#random.pick(HOLDS_MS),
    };
    this.#settingsSince = this.#step;
  }

  #crash(): void {
    const index = this.#random.below(REPLICAS);
    const crashed = this.#replicas[index];
    this.#count('crashes');
    for (const deletion of this.#deletions) if (deletion.replica === crashed) deletion.isLost = true;
    this.#replicas[index] = this.#createReplica();
    crashed?.api.reset();
    crashed?.stop();
  }

  #createReplica(): Replica {
    const api = new SimulatedApi(this.#model.cluster, this.#random);
    const client = api as unknown as KubeApi;
    const index = new ReferrersByConfig();
    const watches = REFERRER_RESOURCES.map((resource): Watch => {
      return { resource, referrers: new Map(), changes: [] };
    });
    const findWatch = (name: string) => watches.find(({ resource }) => resource.name === name);
    const stop = this.#model.cluster.watch((change) => findWatch(change.resource)?.changes.push(change));
    const judge = new Judge({
      api: client,
      index: { findReferrers: index.find.bind(index) },
      configs: { isIndexed: () => true, find: async () => await Promise.resolve({ state: 'exists' }) },
      live: this.#createReader(
        client,
        {
          referrers: () => watches.flatMap(({ referrers }) => [...referrers.values()]),
          newestVersion: (resource) => findWatch(resource)?.version,
          checkVersions: () => {
            throw new Error('the versions of this cluster never go back');
          },
        },
        this.#model.configs,
      ),
      createdAt: (name) => this.#model.configs.get(name),
      settings: () => this.#settings,
      log: pino({ level: 'silent' }),
    });
    return { api, watches, index, judge, stop };
  }

  #requestDeletion(): void {
    if (this.#deletions.length >= MAX_CONCURRENT_DELETIONS) return;
    const config = this.#random.pick([...this.#model.configs.keys()]);
    const replica = this.#random.pick(this.#replicas);
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(new DOMException('', 'TimeoutError')), DEADLINE_MS);
    const deletion: Deletion = {
      config,
      sentAt: this.#step,
      servedUntil: this.#model.servedUntil(config),
      replica,
      timer,
    };
    this.#deletions.push(deletion);
    void replica.judge.judge(this.#toReview(config), deadline.signal).then((judgement) => {
      deletion.judgement = judgement;
    });
  }

  #finishDeletion(deletion: Deletion): void {
    const { config, sentAt, servedUntil, timer, judgement, isLost } = deletion;
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
    const { mode, holdSupersededMs } = this.#settings;
    const isEnforced = mode === 'Enforce' && this.#settingsSince < sentAt;
    if (isEnforced && holdSupersededMs > 0) this.#count('allowed with a hold');
    if (isEnforced && servedUntil + holdSupersededMs > Date.now()) {
      this.#violate(`${config} was allowed within the hold: a pool named it ${Date.now() - servedUntil} ms ago`);
    } else if (isEnforced && this.#model.wasInUseThroughout(config, sentAt)) {
      this.#violate(`${config} was allowed, and was in use the whole time`);
    } else if (!this.#model.isInUse(config) && this.#model.configs.delete(config)) {
      // The cluster keeps a config that came into use after the review.
      this.#count('deleted');
    }
  }

  /** A guard that denies every deletion would be safe and useless. */
  async #checkThatUnusedConfigIsAllowed(): Promise<void> {
    this.#settings = { mode: 'Enforce', holdSupersededMs: 0 };
    const { api, judge } = this.#createReplica();
    const config = [...this.#model.configs.keys()].find((name) => !this.#model.isInUse(name));
    if (config === undefined) return;
    const codes: string[] = [];
    const { signal } = new AbortController();
    void judge.judge(this.#toReview(config), signal).then(({ verdict }) => codes.push(verdict.code));
    for (let turn = 0; turn < 200 && codes.length === 0; turn += 1) {
      api.step();
      vi.advanceTimersByTime(1);
      await runPendingCallbacks();
    }
    const [code = 'missing'] = codes;
    if (code !== 'MCG_NOT_IN_USE') this.#violate(`${config} is unused, and the answer is ${code}`);
  }

  #toReview(name: string): Review {
    const step = this.#step;
    const config = {
      name: toConfigName(name),
      uid: `uid-${step}`,
      createdAt: this.#model.configs.get(name),
    };
    return { uid: `review-${step}`, isDryRun: false, user: 'somebody', config };
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

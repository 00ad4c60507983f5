import { createHash } from 'node:crypto';

import { pino } from 'pino';
import { vi } from 'vitest';

import { MODES, type Mode } from '../../src/decision/settings.ts';
import type { Referrer } from '../../src/decision/references.ts';
import type { Review } from '../../src/decision/review.ts';
import type { Judgement } from '../../src/webhook/judgement.ts';
import type { KubeApi } from '../../src/kube/api.ts';
import { LiveReader } from '../../src/references/live-reader.ts';
import { ReferrersByConfig } from '../../src/references/referrers-by-config.ts';
import { toConfigName } from '../../src/decision/config-name.ts';
import { Judge } from '../../src/guard/judge.ts';
import { ClusterModel } from './cluster-model.ts';
import { Random } from './random.ts';
import { SimulatedApi } from './simulated-api.ts';

const REPLICAS = 2;
/** Deletions under way at the same time. */
const REVIEWS_MAX = 12;
const DEADLINE_MS = 3_800;
/** A phase without faults, with them, with nothing but them. */
const FAULT_RATES = [0, 0, 0.05, 0.3, 1] as const;
const TIME_STEPS_MS = [0, 0, 0, 0, 1, 10, 120, 400, 1_100] as const;

/** Taken before time is replaced: lets everything that is ready run. */
const realSetImmediate = setImmediate;

/** What happened in a run. */
export interface Outcome {
  readonly seed: number;
  readonly steps: number;
  readonly denied: Readonly<Record<string, number>>;
  readonly allowed: number;
  readonly deleted: number;
  readonly crashes: number;
  readonly changes: number;
  readonly reads: number;
  /** Of everything that happened, in its order: two runs with the same digest were the same. */
  readonly digest: string;
  /** The first thing that must not happen; the run ends with it. */
  readonly violation: { readonly step: number; readonly what: string } | undefined;
}

/** How the guard reads and decides: the real one, or one that is broken on purpose. */
export type ReaderFor = (api: KubeApi, index: { readonly referrers: () => Iterable<Referrer> }) => LiveReader;

interface Replica {
  readonly api: SimulatedApi;
  /** What its watches have delivered so far, of each object perhaps something else than what is committed now. */
  readonly known: Map<string, Referrer>;
  readonly byConfig: ReferrersByConfig;
  readonly live: LiveReader;
  readonly judge: Judge;
}

interface Deletion {
  readonly config: string;
  /** When the API server asked. */
  readonly sentAt: number;
  readonly replica: Replica;
  readonly deadline: AbortController;
  readonly timer: ReturnType<typeof setTimeout>;
  judgement: Judgement | undefined;
  /** The replica died: nobody answers, and the API server refuses. */
  lost: boolean;
}

/**
 * Runs the guard's own reading and deciding against a cluster in which everything happens in an order that a seed chooses: writes of
 * controllers, each half of each API call, what watches deliver, faults, deadlines, crashes. Time is that of the fake timers
 * (`vi.useFakeTimers`), which the caller has to switch on.
 */
export class Simulation {
  readonly #seed: number;
  readonly #random: Random;
  readonly #model: ClusterModel;
  readonly #readerFor: ReaderFor;
  readonly #replicas: Replica[] = [];
  readonly #deletions: Deletion[] = [];
  readonly #hash = createHash('sha256');
  readonly #denied: Record<string, number> = {};
  #mode: Mode = 'Enforce';
  /** Since when it is the present mode. */
  #modeAt = 0;
  #step = 0;
  #allowed = 0;
  #deleted = 0;
  #crashes = 0;
  #changes = 0;
  #readsOfTheDead = 0;
  #violation: Outcome['violation'];

  constructor(seed: number, readerFor: ReaderFor = (api) => new LiveReader({ api })) {
    this.#seed = seed;
    this.#random = new Random(seed);
    this.#model = new ClusterModel(this.#random);
    this.#readerFor = readerFor;
    for (let index = 0; index < REPLICAS; index += 1) this.#replicas.push(this.#startReplica());
  }

  /** Takes so many steps, or fewer where something happens that must not; then heals everything and looks whether deletions go on. */
  async run(steps: number): Promise<Outcome> {
    while (this.#step < steps && this.#violation === undefined) {
      this.#step += 1;
      this.#note(this.#something());
      await settled();
      for (const deletion of this.#deletions.filter((one) => one.judgement !== undefined || one.lost))
        this.#finish(deletion);
    }
    if (this.#violation === undefined) await this.#heal();
    const reads = this.#replicas.reduce((sum, { live }) => sum + live.readCount, this.#readsOfTheDead);
    for (const { timer } of this.#deletions) clearTimeout(timer);
    return {
      seed: this.#seed,
      steps: this.#step,
      denied: this.#denied,
      allowed: this.#allowed,
      deleted: this.#deleted,
      crashes: this.#crashes,
      changes: this.#changes,
      reads,
      digest: this.#hash.digest('hex'),
      violation: this.#violation,
    };
  }

  #something(): string {
    const dice = this.#random.next();
    if (dice < 0.55) return this.#random.pick(this.#replicas)?.api.step() ?? this.#askForADeletion();
    if (dice < 0.7) return this.#change();
    if (dice < 0.8) return this.#askForADeletion();
    if (dice < 0.9) return this.#deliver();
    if (dice < 0.996) return this.#passTime();
    if (dice < 0.998) return this.#fault();
    if (dice < 0.999) return this.#crash();
    return this.#switchMode();
  }

  #change(): string {
    this.#changes += 1;
    return this.#model.change(this.#step);
  }

  /** A watch delivers one object as it is now; the others stay as old as they are. */
  #deliver(): string {
    const replica = this.#random.pick(this.#replicas);
    const referrer = this.#random.pick(this.#model.referrers());
    if (replica === undefined || referrer === undefined) return 'nothing';
    const key = `${referrer.kind} ${referrer.name}`;
    replica.byConfig.update(replica.known.get(key), referrer);
    replica.known.set(key, referrer);
    return `deliver ${referrer.name}`;
  }

  #passTime(): string {
    const ms = this.#random.pick(TIME_STEPS_MS) ?? 0;
    vi.advanceTimersByTime(ms);
    return `time ${ms}`;
  }

  #fault(): string {
    const rate = this.#random.pick(FAULT_RATES) ?? 0;
    const replica = this.#random.pick(this.#replicas);
    if (replica !== undefined) replica.api.faults = rate;
    return `faults ${rate}`;
  }

  #switchMode(): string {
    this.#mode = this.#mode === 'Enforce' ? (this.#random.pick(MODES) ?? 'Enforce') : 'Enforce';
    this.#modeAt = this.#step;
    return `mode ${this.#mode}`;
  }

  #crash(): string {
    const index = this.#random.below(REPLICAS);
    const dead = this.#replicas[index];
    if (dead === undefined) return 'nothing';
    this.#crashes += 1;
    this.#readsOfTheDead += dead.live.readCount;
    for (const deletion of this.#deletions) if (deletion.replica === dead) deletion.lost = true;
    this.#replicas[index] = this.#startReplica();
    dead.api.reset();
    return `crash ${index}`;
  }

  #startReplica(): Replica {
    const api = new SimulatedApi(this.#model, this.#random);
    const known = new Map<string, Referrer>();
    const byConfig = new ReferrersByConfig();
    const index = { referrers: () => known.values(), findReferrers: byConfig.find.bind(byConfig) };
    const live = this.#readerFor(api.client, index);
    const settings = () => ({ mode: this.#mode, holdSupersededMs: 0 });
    const judge = new Judge({ api: api.client, index, live, settings, log: pino({ level: 'silent' }) });
    return { api, known, byConfig, live, judge };
  }

  /** A person, a prune or the garbage collector: what is used and what is free, one after another and at once. */
  #askForADeletion(): string {
    const config = this.#random.pick([...this.#model.configs]);
    const replica = this.#random.pick(this.#replicas);
    if (config === undefined || replica === undefined || this.#deletions.length >= REVIEWS_MAX) return 'nothing';
    const deadline = new AbortController();
    const timer = setTimeout(() => {
      deadline.abort(new DOMException('too late', 'TimeoutError'));
    }, DEADLINE_MS);
    const deletion: Deletion = {
      config,
      sentAt: this.#step,
      replica,
      deadline,
      timer,
      judgement: undefined,
      lost: false,
    };
    this.#deletions.push(deletion);
    void replica.judge.judge(reviewOf(config, this.#step), deadline.signal).then((judgement) => {
      deletion.judgement = judgement;
    });
    return `delete ${config}`;
  }

  #finish(deletion: Deletion): void {
    this.#drop(deletion);
    const { config, sentAt, judgement, lost } = deletion;
    if (lost || judgement === undefined) return;
    const { verdict } = judgement;
    this.#note(`${verdict.code} ${config}`);
    if (verdict.denialStatus !== undefined) {
      this.#denied[verdict.code] = (this.#denied[verdict.code] ?? 0) + 1;
      if (verdict.code === 'MCG_IN_USE' && !this.#model.usedOnceSince(config, sentAt)) {
        this.#violate(`${config} was said to be in use, and at no moment since it was asked about was it`);
      }
      return;
    }
    this.#allowed += 1;
    // In another mode than Enforce, now or when it was asked, nothing is promised.
    const enforced = this.#mode === 'Enforce' && this.#modeAt < sentAt;
    if (enforced && this.#model.usedEverSince(config, sentAt)) {
      this.#violate(`${config} was let go, and had been in use ever since it was asked about`);
      return;
    }
    // Where it came into use in the meantime, nobody could have known; the cluster is not broken here, so that the run can go on.
    if (this.#model.free().includes(config) && this.#model.configs.delete(config)) this.#deleted += 1;
  }

  #drop(deletion: Deletion): void {
    clearTimeout(deletion.timer);
    const index = this.#deletions.indexOf(deletion);
    if (index !== -1) this.#deletions.splice(index, 1);
  }

  /** Without faults, what nothing uses can be deleted: a guard that refuses everything would be safe and useless. */
  async #heal(): Promise<void> {
    for (const deletion of this.#deletions.splice(0)) clearTimeout(deletion.timer);
    this.#mode = 'Enforce';
    const replica = this.#startReplica();
    this.#replicas.push(replica);
    const free = this.#model.free()[0];
    if (free === undefined) return;
    const answers: Judgement[] = [];
    const { signal } = new AbortController();
    void replica.judge.judge(reviewOf(free, this.#step), signal).then((answer) => answers.push(answer));
    for (let turn = 0; turn < 200 && answers.length === 0; turn += 1) {
      replica.api.step();
      vi.advanceTimersByTime(1);
      await settled();
    }
    const [judgement] = answers;
    if (judgement?.verdict.code !== 'MCG_NOT_IN_USE') {
      this.#violate(`${free} is free, nothing is wrong, and the answer is ${judgement?.verdict.code ?? 'none'}`);
    }
  }

  #violate(what: string): void {
    this.#violation ??= { step: this.#step, what };
  }

  #note(what: string): void {
    this.#hash.update(`${this.#step} ${what}\n`);
  }
}

async function settled(): Promise<void> {
  await new Promise((resolve) => {
    realSetImmediate(resolve);
  });
}

function reviewOf(config: string, step: number): Review {
  const reviewed = { name: toConfigName(config), uid: `uid-${step}`, annotations: new Map<string, string>() };
  return { uid: `review-${step}`, dryRun: false, user: 'somebody', config: reviewed };
}

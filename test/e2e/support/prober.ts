import { type KubeClient, type KubeResponse, statusOf } from '../control-plane/kube-client.ts';
import { pause, until } from '../control-plane/until.ts';
import { type Cluster, isDeniedInUse, unique } from './cluster.ts';
import { nodePatch, PATHS } from './objects.ts';

/** In the answers while a guard cannot list or is unreachable, or an API server cannot answer. */
const OUTAGE = new RegExp(
  'denied the request: MCG_UNVERIFIED|failed calling webhook "guard.machineconfig-guard.io"|no answer|' +
    'not yet ready to handle request|before all known HTTP paths have been installed|' +
    String.raw`storage is \(re\)initializing|etcdserver|code = Unavailable|timed out|timeout`,
  'i',
);

/**
 * The answers of a guard without faults. A node names the `used` config all the time, and nothing the `unused` one. The
 * API server has just acknowledged that a node names the `moved` one.
 */
const RIGHT_ANSWERS = { used: 'in use', moved: 'in use', unused: 'allowed' } as const;
type Subject = keyof typeof RIGHT_ANSWERS;

/** One deletion, as a dry run, and its answer. */
interface Probe {
  readonly subject: Subject;
  /** If the API server neither deletes nor denies because of references, its message. */
  readonly answer: string;
  /** In milliseconds, comparable with `performance.now()`. */
  readonly sentAt: number;
}

function isRight({ subject, answer }: Probe) {
  return answer === RIGHT_ANSWERS[subject];
}

/** Probes do not wait for earlier ones, like independent users. */
const PROBE_INTERVAL_MS = 250;
const MOVERS = 2;
const MOVE_INTERVAL_MS = 50;
/** Longer than the timeouts of the webhook below. */
const PROBE_TIMEOUT_MS = 36_000;

/** Steadily deletes a used config, an unused one, and configs that nodes have just moved to, as dry runs. */
export class Prober {
  readonly probes: Probe[] = [];
  /** May be changed while the prober is stopped. */
  configs: { readonly used: string; readonly unused: string };
  /** The node that names the used config. */
  readonly node: string;
  readonly #cluster: Cluster;
  readonly #pending = new Set<Promise<void>>();
  #isProbing = false;
  #loops: readonly Promise<void>[] = [];

  private constructor(cluster: Cluster, nodeName: string, configs: Prober['configs']) {
    this.#cluster = cluster;
    this.node = nodeName;
    this.configs = configs;
  }

  /** Creates the configs and the node, and starts. */
  static async start(cluster: Cluster) {
    const [used, unused] = [await cluster.config(), await cluster.config()];
    const prober = new Prober(cluster, await cluster.node({ currentConfig: used }), { used, unused });
    prober.resume();
    return prober;
  }

  /** Goes on after {@link stop}. */
  resume() {
    this.#isProbing = true;
    this.#loops = [this.#probeSteadily(), ...Array.from({ length: MOVERS }, () => this.#moveAndProbe())];
  }

  /** The number of right answers to a subject, sent since a moment. */
  countRight(wanted: Subject, since = 0): number {
    return this.probes.filter((probe) => probe.subject === wanted && probe.sentAt >= since && isRight(probe)).length;
  }

  /** Waits for this many right answers to each subject from now on, or for a wrong one. */
  async awaitRightAnswers(times = 1) {
    const now = performance.now();
    const subjects = Object.keys(RIGHT_ANSWERS) as Subject[];
    const areEnough = async () =>
      this.wrongAnswers.length > 0 || subjects.every((subject) => this.countRight(subject, now) >= times);
    await until(() => `right answers, not ${JSON.stringify(this.probes.slice(-4))}`, areEnough, { everyMs: 50 });
  }

  /** The probes whose answer was not right. */
  get unexpectedAnswers() {
    return this.probes.filter((probe) => !isRight(probe));
  }

  /** The answers that no outage explains. */
  get wrongAnswers() {
    return this.unexpectedAnswers.filter(({ answer }) => !OUTAGE.test(answer));
  }

  async awaitMore(count: number) {
    const total = this.probes.length + count;
    await until('more probes', async () => this.probes.length >= total, { everyMs: 20 });
  }

  /** Returns when all probes have their answer or timed out. */
  async stop() {
    this.#isProbing = false;
    await Promise.all(this.#loops);
    await Promise.all(this.#pending);
  }

  async #probeSteadily() {
    while (this.#isProbing) {
      for (const subject of ['used', 'unused'] as const) {
        const pending = this.#probe(subject, this.configs[subject]);
        this.#pending.add(pending);
        void pending.then(() => this.#pending.delete(pending));
      }
      await pause(PROBE_INTERVAL_MS);
    }
  }

  /** Detects decisions from stale data. */
  async #moveAndProbe() {
    let path: string | undefined;
    let [target, other] = ['', ''];
    while (this.#isProbing) {
      try {
        if (path === undefined) {
          [target, other] = [await this.#cluster.config(), await this.#cluster.config()];
          path = `${PATHS.nodes}/${await this.#cluster.node({ name: unique('mover'), currentConfig: other })}`;
        }
        const patch = nodePatch({ currentConfig: target });
        const extras = { timeoutMs: PROBE_TIMEOUT_MS };
        const { status } = await this.#cluster.admin.request('PATCH', path, patch, extras);
        if (status === 200) {
          await this.#probe('moved', target);
          [target, other] = [other, target];
        }
      } catch {
        // The write was not acknowledged, so there is no right answer. The next attempt writes the same.
      }
      await pause(MOVE_INTERVAL_MS);
    }
  }

  async #probe(subject: Subject, config: string) {
    const sentAt = performance.now();
    const extras = { query: { dryRun: 'All' }, timeoutMs: PROBE_TIMEOUT_MS };
    const response = this.#cluster.admin.request('DELETE', `${PATHS.configs}/${config}`, undefined, extras);
    const answer = await response.then(readAnswer, (error: unknown) => `no answer: ${String(error)}`);
    this.probes.push({ subject, answer, sentAt });
  }
}

/** Probes before and during a step. Returns the prober, which has stopped. */
export async function probeDuring(cluster: Cluster, step: (prober: Prober) => Promise<unknown>): Promise<Prober> {
  const prober = await Prober.start(cluster);
  try {
    await prober.awaitRightAnswers();
    await step(prober);
  } finally {
    await prober.stop();
  }
  return prober;
}

/** Of a webhook: the longest that the API server accepts. */
const PATIENCE_S = 30;

/** Changes the timeout of the guard's webhook in manifests as {@link withPatience} does. */
export function extendTimeout(manifests: string): string {
  const timeout = /("?sideEffects"?: ?"?NoneOnDryRun"?[^}]*?"?timeoutSeconds"?: ?)5\b/g;
  return manifests.replaceAll(timeout, (_all, before: string) => `${before}${PATIENCE_S}`);
}

/**
 * During the step, the API server waits 30 s for the guard instead of 5 s. So a busy machine is no excuse: the guard
 * has the time to list, and must answer rightly.
 */
export async function withPatience<Result>(client: KubeClient, step: () => Promise<Result>): Promise<Result> {
  const setTimeoutSeconds = (value: number) =>
    client.patch(PATHS.guardWebhook, [{ op: 'replace', path: '/webhooks/0/timeoutSeconds', value }]);
  await setTimeoutSeconds(PATIENCE_S);
  try {
    return await step();
  } finally {
    await setTimeoutSeconds(5);
  }
}

/** Probes during a step that no call may notice, and returns the calls that failed. */
export async function probeCalls(cluster: Cluster, step: (prober: Prober) => Promise<unknown>) {
  return (await withPatience(cluster.admin, () => probeDuring(cluster, step))).unexpectedAnswers;
}

function readAnswer(response: KubeResponse): string {
  if (response.status === 200) return 'allowed';
  return isDeniedInUse(response) ? 'in use' : (statusOf(response).message ?? '');
}

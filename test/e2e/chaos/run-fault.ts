import type { KubeClient } from '../control-plane/kube-client.ts';
import { pause, until } from '../control-plane/until.ts';
import { unique } from '../support/cluster.ts';
import type { Answer } from '../support/answer.ts';
import type { GuardedCluster } from '../support/guarded-cluster.ts';
import { machineConfig, node, renderedName } from '../support/objects.ts';
import { PATHS } from '../support/paths.ts';
import { isRight, isWronglyAllowed, Prober, RIGHT_ANSWERS, type Probe, type Subject } from '../support/prober.ts';
import type { Fault } from './fault.ts';

/** The number of times that each answer came. */
export type AnswerCounts = Readonly<Partial<Record<Answer, number>>>;

export interface FaultResult {
  /** Answers to probes that were sent and answered during the fault. */
  readonly during: Readonly<Record<Subject, AnswerCounts>>;
  /** The number of probes at any time that were allowed although a node named the config. */
  readonly wronglyAllowed: number;
  /** The probes at any time whose answer no outage explains. */
  readonly errors: readonly Probe[];
  readonly probeCount: number;
  /** One message for each kind of answer of `during` that was not right. */
  readonly messages: readonly string[];
  /** The slowest answer of `during`; undefined if there was none. */
  readonly slowestSeconds: number | undefined;
  /** From the end of the fault to right answers; undefined if no answer was wrong during the fault. */
  readonly recoverySeconds: number | undefined;
  /** From the end of the fault until the index led to a denial because of a later write. */
  readonly indexSeconds: number;
  readonly isSameProcess: boolean;
}

const INDEX_DENIALS = 'mcguard_decision_duration_seconds_count{path="index"}';
/** Each subject gets its right answer this many times before the fault. */
const RIGHT_ANSWERS_BEFORE = 3;
const AFTERWARDS_MS = 500;
const INDEX_TIMEOUT_MS = 120_000;

/** Injects a fault while it probes, and goes on until all answers are right again. */
export async function runFault(cluster: GuardedCluster, fault: Fault): Promise<FaultResult> {
  await cluster.launchGuard(fault.launch);
  const firstApiServer = cluster.controlPlane.apiServer;
  const apiServer = fault.needsSecondApiServer === true ? await cluster.secondApiServer() : firstApiServer;
  const prober = await Prober.start(apiServer.connection);
  try {
    await prober.awaitRightAnswers(performance.now(), RIGHT_ANSWERS_BEFORE);
    await fault.prepare?.(cluster, prober);
    const { pid } = cluster.guard;
    const startedAt = performance.now();
    const recover = await fault.inject(cluster, prober);
    await pause(fault.durationMs);
    await recover();
    const endedAt = performance.now();
    const recoveredAt = await prober.awaitRightAnswers(endedAt);
    await pause(AFTERWARDS_MS);
    await prober.stop();
    const indexedAt = await awaitIndexDenial(cluster, apiServer.admin);
    const isSameProcess = cluster.guard.isRunning && cluster.guard.pid === pid;
    const indexSeconds = (indexedAt - endedAt) / 1_000;
    return { ...summarize(prober, { startedAt, endedAt, recoveredAt }), indexSeconds, isSameProcess };
  } finally {
    await prober.stop();
  }
}

function summarize(
  { probes, errors }: Prober,
  { startedAt, endedAt, recoveredAt }: { startedAt: number; endedAt: number; recoveredAt: number },
): Omit<FaultResult, 'indexSeconds' | 'isSameProcess'> {
  // A probe that is answered after the end may have been decided without the fault.
  const during = probes.filter(({ sentAt, answeredAt }) => sentAt >= startedAt && answeredAt < endedAt);
  const notRight = during.filter((probe) => !isRight(probe));
  const answered = during.filter(({ answer }) => answer !== 'no answer');
  const delays = answered.map(({ sentAt, answeredAt }) => answeredAt - sentAt);
  const countFor = (wanted: Subject) => countAnswers(during.filter(({ subject }) => subject === wanted));
  return {
    during: { used: countFor('used'), moved: countFor('moved'), unused: countFor('unused') },
    wronglyAllowed: probes.filter(isWronglyAllowed).length,
    errors,
    probeCount: probes.length,
    messages: [...new Map(notRight.map(({ answer, message }) => [answer, message])).values()],
    slowestSeconds: delays.length === 0 ? undefined : Math.max(...delays) / 1_000,
    recoverySeconds: notRight.length === 0 ? undefined : (recoveredAt - endedAt) / 1_000,
  };
}

/** Waits until the index leads to a denial of a config that a node names only since now. */
async function awaitIndexDenial(cluster: GuardedCluster, admin: KubeClient): Promise<number> {
  const config = renderedName('chaos');
  await admin.create(PATHS.configs, machineConfig({ name: config }));
  await admin.create(PATHS.nodes, node({ name: unique('indexed'), currentConfig: config }));
  let count = await cluster.readMetric(INDEX_DENIALS);
  const poll = async () => {
    await admin.delete(`${PATHS.configs}/${config}`, { dryRun: 'All' });
    const before = count;
    count = await cluster.readMetric(INDEX_DENIALS);
    return count > before && performance.now();
  };
  return until('a denial from the index', poll, { timeoutMs: INDEX_TIMEOUT_MS, everyMs: 200 });
}

/** Denials because the time was too short. On a slow machine they may come with any fault. */
const LATE_ANSWERS: readonly Answer[] = ['unverified', 'guard unreachable'];

/** What the guard did wrong, or why the fault had no effect: one sentence each. */
export function problemsOf(
  { preventsRightAnswers, endsGuard, requiredAnswer }: Fault,
  { during, errors, isSameProcess }: FaultResult,
): readonly string[] {
  const answers = Object.keys({ ...during.used, ...during.moved, ...during.unused });
  const right = preventsRightAnswers === true ? [] : [RIGHT_ANSWERS.used, RIGHT_ANSWERS.unused];
  const required = requiredAnswer === undefined ? right : [requiredAnswer];
  return [
    ...errors.map(({ subject, answer, message }) => `${subject} was answered "${answer}": ${message}`),
    ...difference(answers, [...right, ...required, ...LATE_ANSWERS]).map((answer) => `unexpected answer "${answer}"`),
    ...difference(required, answers).map((answer) => `nothing was answered "${answer}"`),
    ...(isSameProcess === (endsGuard !== true) ? [] : ['the guard is not the expected process']),
  ];
}

function difference(some: readonly string[], others: readonly string[]): readonly string[] {
  return some.filter((one) => !others.includes(one));
}

/** The number of times that each answer came. */
export function countAnswers(probes: readonly Pick<Probe, 'answer'>[]): AnswerCounts {
  const counts: Partial<Record<Answer, number>> = {};
  for (const { answer } of probes) counts[answer] = (counts[answer] ?? 0) + 1;
  return counts;
}

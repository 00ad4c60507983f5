import { pause, until } from '../control-plane/until.ts';
import type { Answer } from '../support/answer.ts';
import { Cluster } from '../support/cluster.ts';
import type { GuardedCluster, LaunchPreparation } from '../support/guarded-cluster.ts';
import { countAnswers, isRight, Prober, RIGHT_ANSWERS } from '../support/prober.ts';

/** Something that fails, and the answers that deletions may get meanwhile. */
export interface Fault {
  /** For `npm run chaos -- --only`. */
  readonly name: string;
  /** Whether `npm run test:e2e` injects it without `--long`. */
  readonly isInShortRun?: true;
  /** The fault needs a guard that was started differently. */
  readonly launch?: LaunchPreparation;
  /** Deletions go to a second API server on the same etcd, because the guard's API server fails. */
  readonly needsSecondApiServer?: true;
  /** The guard cannot verify anything. */
  readonly preventsRightAnswers?: true;
  /** An answer that must occur, or else the fault had no effect. Without it, the right answers must occur. */
  readonly requiredAnswer?: Answer;
  readonly durationMs: number;
  readonly prepare?: (cluster: GuardedCluster, prober: Prober) => Promise<void>;
  /** Starts the fault. The returned function ends it, and throws if it can tell that the fault had no effect. */
  readonly inject: (cluster: GuardedCluster, prober: Prober) => Recovery | Promise<Recovery>;
}

type Recovery = () => Promise<void> | void;

const INDEX_DENIALS = 'mcguard_decision_duration_seconds_count{path="index"}';
/** Each subject gets its right answer this many times before the fault. */
const RIGHT_ANSWERS_BEFORE = 3;
/** Denials because the time was too short. On a slow machine they may come with any fault. */
const LATE_ANSWERS: readonly Answer[] = ['unverified', 'guard unreachable'];

/**
 * Injects a fault while it probes, and goes on until all answers are right again and the index leads to a denial.
 * Returns what the guard did wrong, or why the fault had no effect: one sentence each.
 */
export async function findProblems(cluster: GuardedCluster, fault: Fault): Promise<readonly string[]> {
  await cluster.launchGuard(fault.launch);
  const { apiServer: first } = cluster.controlPlane;
  const { connection, auditLog } = fault.needsSecondApiServer === true ? await cluster.secondApiServer() : first;
  const prober = await Prober.start(connection);
  try {
    await prober.awaitRightAnswers(performance.now(), RIGHT_ANSWERS_BEFORE);
    await fault.prepare?.(cluster, prober);
    const { pid } = cluster.guard;
    const startedAt = performance.now();
    const recover = await fault.inject(cluster, prober);
    await pause(fault.durationMs);
    await recover();
    const endedAt = performance.now();
    await prober.awaitRightAnswers(endedAt);
    await prober.stop();
    await awaitIndexDenial(cluster, new Cluster({ admin: connection, auditLog }));
    const isSameProcess = cluster.guard.isRunning && cluster.guard.pid === pid;
    // A probe that is answered after the end may have been decided without the fault.
    const during = prober.probes.filter(({ sentAt, answeredAt }) => sentAt >= startedAt && answeredAt < endedAt);
    const messages = new Set(during.filter((probe) => !isRight(probe)).map(({ message }) => message));
    console.log(countAnswers(during), messages);
    return [
      ...prober.errors.map(({ subject, answer, message }) => `${subject} was answered "${answer}": ${message}`),
      ...compareAnswers(fault, Object.keys(countAnswers(during))),
      ...(isSameProcess ? [] : ['the guard is not the same process']),
    ];
  } finally {
    await prober.stop();
  }
}

function compareAnswers({ preventsRightAnswers, requiredAnswer }: Fault, answers: readonly string[]) {
  const right: readonly string[] = preventsRightAnswers === true ? [] : [RIGHT_ANSWERS.used, RIGHT_ANSWERS.unused];
  const required = requiredAnswer === undefined ? right : [requiredAnswer];
  const expected = new Set([...right, ...required, ...LATE_ANSWERS]);
  return [
    ...answers.filter((answer) => !expected.has(answer)).map((answer) => `unexpected answer "${answer}"`),
    ...required.filter((answer) => !answers.includes(answer)).map((answer) => `nothing was answered "${answer}"`),
  ];
}

/** Waits until the index leads to a denial of a config that a node names only since now. */
async function awaitIndexDenial(guarded: GuardedCluster, cluster: Cluster): Promise<void> {
  const config = await cluster.config();
  await cluster.node({ currentConfig: config });
  const readCount = async () => (await guarded.readMetric(INDEX_DENIALS)) ?? 0;
  const before = await readCount();
  const isFromIndex = async () => {
    await cluster.dryRun(config);
    return (await readCount()) > before;
  };
  await until('a denial from the index', isFromIndex, { everyMs: 200 });
}

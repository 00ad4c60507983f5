import type { KubeClient } from '../../control-plane/kube-client.ts';
import { pause, until } from '../../control-plane/until.ts';
import { machineConfig, node, renderedName } from '../../support/objects.ts';
import { PATHS } from '../../support/paths.ts';
import { unique } from '../../support/cluster.ts';
import type { Answer } from './answer.ts';
import type { Fault } from './fault.ts';
import { isWronglyInUse, isWronglyLetGo, Questions, RIGHT, type Asked, type Subject } from './questions.ts';
import type { Stage } from './stage.ts';

/** How often each answer came. */
export type Counts = Readonly<Partial<Record<Answer, number>>>;

/** What came of a fault. */
export interface Ordeal {
  /** Answers to what was asked and answered while it lasted. */
  readonly during: Readonly<Record<Subject, Counts>>;
  /** Let go although a node named it; of the whole time. */
  readonly wronglyLetGo: readonly Asked[];
  /** Said to be in use although nothing named it; of the whole time. */
  readonly wronglyInUse: readonly Asked[];
  readonly unexpected: readonly Asked[];
  /** How many were asked. */
  readonly questions: number;
  /** One message of each kind among the answers of `during` that were not right. */
  readonly heard: readonly string[];
  /** The longest wait for one of the answers of `during`; undefined where there was none. */
  readonly slowestSeconds: number | undefined;
  /** From the end of the fault until each question had been answered rightly; undefined where nothing was wrong while it lasted. */
  readonly recoverySeconds: number | undefined;
  /** From the end of the fault until a refusal came out of the index about a write that came after it. */
  readonly indexSeconds: number;
  /** The guard's process is the one that it was. */
  readonly sameProcess: boolean;
}

/** Right this often before anything is done to it. */
const CALM = 3;
const AFTERWARDS_MS = 500;
const INDEX_TIMEOUT_MS = 120_000;

/** Lets the fault happen while deletions are asked for, and goes on until everything is right again. */
export async function suffer(stage: Stage, fault: Fault): Promise<Ordeal> {
  await stage.launch(fault.launch);
  const { apiServer } = stage.controlPlane;
  const asked = fault.askAnother === true ? await stage.another() : apiServer;
  const questions = await Questions.prepare(asked.connection);
  try {
    questions.start();
    await questions.untilRight(performance.now(), CALM);
    await fault.prepare?.(stage, questions);
    const { pid } = stage.guard;
    const begunAt = performance.now();
    const end = await fault.begin(stage, questions);
    await pause(fault.lastsMs);
    await end();
    const endedAt = performance.now();
    const recoveredAt = await questions.untilRight(endedAt);
    await pause(AFTERWARDS_MS);
    await questions.stop();
    const indexAt = await untilIndexed(stage, asked.admin);

    // What was still waiting when it ended may have got its answer from a world in which nothing is the matter.
    const during = questions.asked.filter(({ sentAt, answeredAt }) => sentAt >= begunAt && answeredAt < endedAt);
    const wasWrong = during.some(({ about, answer }) => answer !== RIGHT[about]);
    const answered = during.filter(({ answer }) => answer !== 'no answer');
    const waits = answered.map(({ sentAt, answeredAt }) => answeredAt - sentAt);
    const all = questions.asked;
    return {
      during: { used: countsOf(during, 'used'), moved: countsOf(during, 'moved'), free: countsOf(during, 'free') },
      wronglyLetGo: all.filter(isWronglyLetGo),
      wronglyInUse: all.filter(isWronglyInUse),
      unexpected: all.filter(({ answer }) => answer === 'unexpected'),
      questions: all.length,
      heard: heardIn(during),
      slowestSeconds: waits.length === 0 ? undefined : Math.max(...waits) / 1_000,
      recoverySeconds: wasWrong ? (recoveredAt - endedAt) / 1_000 : undefined,
      indexSeconds: (indexAt - endedAt) / 1_000,
      sameProcess: stage.guard.running && stage.guard.pid === pid,
    };
  } finally {
    await questions.stop();
    questions.close();
  }
}

/** When a refusal came out of the index about a config that a node names only since now. */
async function untilIndexed({ indexHits }: Stage, admin: KubeClient): Promise<number> {
  const config = renderedName('chaos');
  await admin.create(PATHS.configs, machineConfig({ name: config }));
  await admin.create(PATHS.nodes, node({ name: unique('indexed'), currentConfig: config }));
  let before = await indexHits.count();
  return until(
    'a refusal out of the index',
    async () => {
      await admin.delete(`${PATHS.configs}/${config}`, { dryRun: 'All' });
      const now = await indexHits.count();
      const isHit = now > before;
      before = now;
      return isHit && performance.now();
    },
    { timeoutMs: INDEX_TIMEOUT_MS, everyMs: 200 },
  );
}

/** Refusals for want of time: on a slow machine they may come whatever the matter is. */
const LATE: readonly Answer[] = ['unverified', 'guard not reached'];

/** What the guard must not have done, one sentence each; or what shows that the fault was none. */
export function problemsOf({ answers, endsGuard, proof }: Fault, ordeal: Ordeal): readonly string[] {
  const { during, wronglyLetGo, wronglyInUse, unexpected, sameProcess } = ordeal;
  const used = Object.keys({ ...during.used, ...during.moved });
  const free = Object.keys(during.free);
  return [
    ...[...wronglyLetGo, ...wronglyInUse, ...unexpected].map(told),
    ...missing(used, [...answers.used, ...LATE]).map((answer) => `used was answered "${answer}"`),
    ...missing(free, [...answers.free, ...LATE]).map((answer) => `free was answered "${answer}"`),
    ...missing(proof === undefined ? [RIGHT.used, RIGHT.free] : [proof], [...used, ...free]).map(
      (answer) => `nobody was answered "${answer}"`,
    ),
    ...(sameProcess === (endsGuard !== true) ? [] : ['the guard is not the process that it should be']),
  ];
}

/** Those of the first that are not among the second. */
function missing(some: readonly string[], all: readonly string[]): readonly string[] {
  return some.filter((one) => !all.includes(one));
}

function told({ about, answer, message }: Asked): string {
  return `${about} was answered "${answer}": ${message}`;
}

function heardIn(asked: readonly Asked[]): readonly string[] {
  const wrong = asked.filter(({ about, answer }) => answer !== RIGHT[about]);
  // Of several with the same key a Map keeps the last: so that it is the first.
  return [...new Map(wrong.toReversed().map(({ answer, message }) => [answer, message])).values()];
}

function countsOf(asked: readonly Asked[], subject: Subject): Counts {
  const counts: Partial<Record<Answer, number>> = {};
  for (const { about, answer } of asked) if (about === subject) counts[answer] = (counts[answer] ?? 0) + 1;
  return counts;
}

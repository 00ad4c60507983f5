import type { Binaries } from '../e2e/control-plane/binaries.ts';
import { pause } from '../e2e/control-plane/until.ts';
import { GuardedCluster } from '../e2e/support/guarded-cluster.ts';
import { Churn, type Tally } from './churn.ts';
import { type Observation, Observer } from './observation.ts';

export interface SoakOptions {
  readonly binaries: Binaries;
  /** How long the churn goes on. */
  readonly minutes: number;
  readonly nodes: number;
  /** Tells the person who waits what is being done. */
  readonly log: (line: string) => void;
}

/** What was seen. */
export interface Soaked {
  readonly observations: readonly Observation[];
  readonly tally: Tally;
  /** How long it took to make the nodes, in seconds. */
  readonly setUp: number;
}

/** Between two observations. */
const EVERY_MS = 2_000;
/** A line a minute for whoever waits. */
const TELL_EVERY = 30;
/** So short a run still has samples for a trend. */
const SAMPLES_MIN = 80;

/** Runs the bundled guard beside a cluster in which much happens, and looks at it every two seconds. */
export async function soak({ binaries, minutes, nodes, log }: SoakOptions): Promise<Soaked> {
  const guarded = await GuardedCluster.start(binaries, { direct: true });
  try {
    const churn = new Churn(guarded.connection, nodes);
    log(`${nodes} nodes are made …`);
    const begun = performance.now();
    await churn.prepare();
    const setUp = (performance.now() - begun) / 1_000;
    log(`made in ${setUp.toFixed(0)} s; ${minutes} minutes of churn …`);
    const { pid, healthUrl } = guarded.guard;
    const observer = await Observer.start(pid, healthUrl);
    const observations: Observation[] = [];
    const everyMs = Math.min(EVERY_MS, (minutes * 60_000) / SAMPLES_MIN);
    const end = performance.now() + minutes * 60_000;
    const running = churn.run();
    const watched = watch();
    // Whichever fails ends both.
    await Promise.race([running, watched]);
    churn.stop();
    await Promise.all([running, watched]);
    return { observations, tally: churn.tally, setUp };

    async function watch(): Promise<void> {
      for (let next = performance.now() + everyMs; next <= end; next += everyMs) {
        await pause(Math.max(0, next - performance.now()));
        const now = await observer.observe();
        observations.push(now);
        if (observations.length % TELL_EVERY === 0) log(lineOf(now, churn.tally));
      }
    }
  } finally {
    await guarded.stop();
  }
}

function lineOf({ minute, memory, files, delay, busyCores }: Observation, tally: Tally): string {
  const guard = `${memory.toFixed(0)} MB, ${files} files, delay ${delay.toFixed(1)} ms`;
  const deletions = `${tally.refused} refused, ${tally.deleted} deleted, ${tally.undecided} undecided, ${tally.wrong.length} wrong`;
  return `${minute.toFixed(1).padStart(5)} min  ${guard}; ${deletions}; ${tally.rollouts} rollouts; ${busyCores.toFixed(1)} cores busy`;
}

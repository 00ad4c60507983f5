import { expect, test } from 'vitest';
import { expectAnnounced, expectRecorded, expectRecovered, expectRight } from './oracles.ts';
import { FAULTS, pick } from './random-faults.ts';
import { CONFIGS, NODES, OTHER, startWorld, USED } from './world.ts';

/** `VIRTUAL_SEEDS=7` or `VIRTUAL_SEEDS=1-200`. */
const [FIRST = 1, LAST = FIRST] = (process.env['VIRTUAL_SEEDS'] ?? '1-3').split('-').map(Number);
const SEEDS = Array.from({ length: LAST - FIRST + 1 }, (_, index) => FIRST + index);
const FAULTS_OF_RUN = 3;
/** For a busy machine. The test needs about a second. */
const TIMEOUT_MS = 600_000;

test.each(SEEDS)(
  'with random faults of seed %i, no answer is wrong, and everything recovers',
  { timeout: TIMEOUT_MS },
  async (seed) => {
    const { world, clock, replica } = await startWorld({ seed });
    const { random } = world;
    const trace: string[] = [];
    const note = (event: string) => void trace.push(`${clock.seconds.toFixed(1)} s: ${event}`);
    const review = async () => {
      const config = pick(random, CONFIGS);
      const answer = await replica.review(config, { user: pick(random, ['alice', 'bob']), dryRun: random() < 0.3 });
      note(
        `${config.at(-1)} ${answer.isUsed ? 'in use' : 'unused'}: ${answer.code} after ${answer.seconds.toFixed(1)} s`,
      );
      expectRight(answer);
    };
    try {
      for (let count = 0; count < FAULTS_OF_RUN; count += 1) {
        const fault = pick(random, Object.keys(FAULTS));
        note(fault);
        const end = FAULTS[fault]?.(world, replica);
        const seconds = pick(random, [0.1, 1, 5, 20]);
        const endAt = clock.seconds + seconds;
        while (clock.seconds < endAt) {
          await review();
          if (random() < 0.3) world.setNode(pick(random, NODES.slice(0, 2)), pick(random, [USED, OTHER]));
          await clock.pass(random() * 4_000);
        }
        end?.();
        note('end');
        for (const node of NODES) world.setNode(node, USED);
        await expectRecovered(world);
        note('recovered');
      }
      await expectRecorded(replica);
      const since = clock.seconds;
      await replica.review(USED, { user: 'carol' });
      // The API server has not got all Events of earlier denials.
      await expectAnnounced(world, replica, since);
    } catch (error) {
      throw new Error(`seed ${seed}:\n${trace.join('\n')}\n${String(error)}`, { cause: error });
    }
    expect(replica.lines.filter(({ level }) => Number(level) >= 50)).toEqual([]);
  },
);

import type { KubeClient } from '../../e2e/control-plane/kube-client.ts';
import { PATHS } from '../../e2e/support/paths.ts';
import { race, type RaceResult } from '../../e2e/support/race.ts';
import type { BenchContext } from '../bench.ts';
import { BenchCluster } from '../bench-cluster.ts';
import { applyFloor, awaitFloor } from '../floor.ts';
import { maxTrueShare } from '../statistics.ts';
import { createColumns, createGoalTable, type Table } from '../table.ts';

export const question =
  'A node is moved to a config, and as soon as that is acknowledged its deletion is asked for: how often is it let go?';

/** Nodes of a small cluster, beside those that move. */
const NODES = 50;
const WORKERS = 4;
const IN_USE = 'MCG_IN_USE';
const FULL = { floor: 2_000, guard: 10_000 };
const QUICK = { floor: 100, guard: 100 };

interface Result extends RaceResult {
  readonly who: string;
  readonly where: string;
}

export async function run(context: BenchContext): Promise<readonly Table[]> {
  const { isQuick, log } = context;
  const rounds = isQuick ? QUICK : FULL;
  return await BenchCluster.use(context, async (cluster) => {
    const { admin, guarded } = cluster;
    const second = (await guarded.controlPlane.startApiServer()).admin;
    await cluster.growFleet(NODES, [await cluster.createConfig('none')]);
    const guardResults = await raceAll('guard', [admin, second], rounds.guard, log);
    // A denial for another reason, such as an unreadable source, would prove nothing.
    const otherCodes = guardResults.flatMap(({ refusals }) => Object.keys(refusals).filter((code) => code !== IN_USE));
    if (otherCodes.length > 0) throw new Error(`The guard refused with ${otherCodes.join(', ')}.`);

    await admin.delete(`${PATHS.webhookConfigurations}/machineconfig-guard`);
    await applyFloor(guarded.controlPlane);
    log('Waiting for both API servers to have the policies …');
    for (const client of [admin, second]) await awaitFloor(client);
    const floorResults = await raceAll('policy floor', [admin, second], rounds.floor, log);
    const goals = guardResults.map((result) => ({
      what: `guard, ${result.where}: let go although in use, of ${result.rounds.toLocaleString('en-US')}`,
      found: result.wronglyAllowed,
      atMost: 0,
    }));
    const title = 'The race against what was wanted';
    return [createTable([...floorResults, ...guardResults]), createGoalTable(title, goals)];
  });
}

/** Races on one API server, and on two: half of the workers write to the first one, from which the guard reads. */
async function raceAll(
  who: string,
  [first, second]: readonly [KubeClient, KubeClient],
  rounds: number,
  log: (line: string) => void,
): Promise<readonly Result[]> {
  const same = { write: first, delete: first };
  const forth = { write: first, delete: second };
  const back = { write: second, delete: first };
  const results: Result[] = [];
  for (const [where, lanes] of [
    ['one API server', Array.from({ length: WORKERS }, () => same)],
    ['written to one, deleted at another', [forth, forth, back, back]],
  ] as const) {
    log(`${who}, ${where}: ${rounds} rounds …`);
    const result = await race({ lanes, rounds });
    log(`${who}, ${where}: ${result.wronglyAllowed} of ${result.rounds} let go in ${result.seconds.toFixed(0)} s`);
    results.push({ who, where, ...result });
  }
  return results;
}

function createTable(results: readonly Result[]): Table {
  return {
    title: 'Configs let go although a node had them',
    columns: [
      ...createColumns({ who: 'who decides', where: 'where', rounds: 'rounds', wronglyAllowed: 'let go' }),
      ...createColumns({ percent: '%', atMostPercent: 'at most, %' }, 2),
      ...createColumns({ freed: 'free ones deleted', perSecond: 'rounds/s' }),
    ],
    rows: results.map(({ who, where, rounds, wronglyAllowed, freed, seconds }) => ({
      who,
      where,
      rounds,
      wronglyAllowed,
      percent: (wronglyAllowed / rounds) * 100,
      atMostPercent: maxTrueShare(wronglyAllowed, rounds) * 100,
      freed: `${freed.allowed} of ${freed.tried}`,
      perSecond: Math.round(rounds / seconds),
    })),
    notes: [
      `${WORKERS} workers, each with a node of its own, ${NODES} other nodes.`,
      'At most: what the true share may be with 95 % confidence; none of 10,000 is not "never".',
      'Free ones: every 20th round also asks for the config that the node has just left; a cache may not know that ' +
        'yet and refuse.',
    ],
  };
}

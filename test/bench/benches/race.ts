import type { KubeClient } from '../../e2e/control-plane/kube-client.ts';
import { race, type RaceResult } from '../../e2e/support/race.ts';
import type { BenchCluster } from '../bench-cluster.ts';
import { applyFloor, awaitFloor } from '../floor.ts';
import { maxTrueShare } from '../statistics.ts';
import { createColumns, createGoalTable, type Row, type Table } from '../table.ts';

export const question =
  'A node is moved to a config, and as soon as that is acknowledged its deletion is asked for: how often is it let go?';

/** Nodes of a small cluster, beside those that move. */
const NODES = 50;
const ACROSS = 'written to one, deleted at another';
const IN_USE = 'MCG_IN_USE';
const FULL = { floor: 2_000, guard: 10_000 };
const QUICK = { floor: 100, guard: 100 };

interface Result extends RaceResult {
  readonly who: string;
  readonly where: string;
}

const TABLE = {
  title: 'Configs let go although a node had them',
  columns: [
    ...createColumns({ who: 'who decides', where: 'where', rounds: 'rounds', wronglyAllowed: 'let go' }),
    ...createColumns({ percent: '%', atMostPercent: 'at most, %' }, 2),
    ...createColumns({ freed: 'free ones deleted', perSecond: 'rounds/s' }),
  ],
  notes: [
    `4 workers, each with a node of its own, ${NODES} other nodes.`,
    'At most: what the true share may be with 95 % confidence; none of 10,000 is not "never".',
    'Free ones: every 20th round also asks for the config that the node has just left; a cache may not know that ' +
      'yet and refuse.',
  ],
};

export async function run(cluster: BenchCluster, isQuick: boolean): Promise<readonly Table[]> {
  const rounds = isQuick ? QUICK : FULL;
  const { admin, guarded } = cluster;
  const second = (await guarded.controlPlane.startApiServer()).admin;
  await cluster.growFleet(NODES, [await cluster.createConfig('none')]);
  const guardResults = await raceAll(cluster, 'guard', second, rounds.guard);
  // A denial for another reason, such as an unreadable source, would prove nothing.
  const otherCodes = guardResults.flatMap(({ refusals }) => Object.keys(refusals).filter((code) => code !== IN_USE));
  if (otherCodes.length > 0) throw new Error(`The guard refused with ${otherCodes.join(', ')}.`);

  await cluster.stopGuard();
  await applyFloor(guarded.controlPlane);
  cluster.log('Waiting for both API servers to have the policies …');
  for (const client of [admin, second]) await awaitFloor(client);
  const floorResults = await raceAll(cluster, 'policy floor', second, rounds.floor);
  const goals = guardResults.map((result) => ({
    what: `guard, ${result.where}: let go although in use, of ${result.rounds.toLocaleString('en-US')}`,
    found: result.wronglyAllowed,
    atMost: 0,
  }));
  const title = 'The race against what was wanted';
  const rows = [...floorResults, ...guardResults].map((result) => createRow(result));
  return [{ ...TABLE, rows }, createGoalTable(title, goals)];
}

/** Races on one API server, and on two: half of the workers write to the first one, from which the guard reads. */
async function raceAll(
  cluster: BenchCluster,
  who: string,
  second: KubeClient,
  rounds: number,
): Promise<readonly Result[]> {
  const first = cluster.admin;
  const same = { write: first, delete: first };
  const forth = { write: first, delete: second };
  const back = { write: second, delete: first };
  const results: Result[] = [];
  const races = { 'one API server': [same, same, same, same], [ACROSS]: [forth, forth, back, back] };
  for (const [where, lanes] of Object.entries(races)) {
    cluster.log(`${who}, ${where}: ${rounds} rounds …`);
    results.push({ who, where, ...(await race({ lanes, rounds })) });
  }
  return results;
}

function createRow({ who, where, rounds, wronglyAllowed, freed, seconds }: Result): Row {
  return {
    who,
    where,
    rounds,
    wronglyAllowed,
    percent: (wronglyAllowed / rounds) * 100,
    atMostPercent: maxTrueShare(wronglyAllowed, rounds) * 100,
    freed: `${freed.allowed} of ${freed.tried}`,
    perSecond: Math.round(rounds / seconds),
  };
}

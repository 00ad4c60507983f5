import { ControlPlane, type ApiServer } from '../../e2e/control-plane/control-plane.ts';
import { GuardedCluster } from '../../e2e/support/guarded-cluster.ts';
import { machineConfig, renderedName } from '../../e2e/support/objects.ts';
import { PATHS } from '../../e2e/support/paths.ts';
import { race, type Lane, type RaceResult } from '../../e2e/support/race.ts';
import type { Bench, BenchContext, Table } from '../bench.ts';
import { applyFloor, awaitFloor } from '../floor.ts';
import { goalTable } from '../goals.ts';
import { createFleet } from '../nodes.ts';
import { atMost } from '../percentiles.ts';

/** Beside those that are moved: a small cluster. */
const NODES = 50;
const WORKERS = 4;

const ROUNDS = {
  full: { floor: 2_000, guard: 10_000 },
  quick: { floor: 100, guard: 100 },
} as const;

const bench: Bench = {
  question:
    'A node is moved to a config, and as soon as that is acknowledged its deletion is asked for: how often is it let go?',
  run,
};
export default bench;

interface Outcome extends RaceResult {
  readonly who: string;
  readonly where: string;
}

async function run(context: BenchContext): Promise<readonly Table[]> {
  const { floor, guard } = ROUNDS[context.quick ? 'quick' : 'full'];
  const [ofFloor, ofGuard] = [await raceOfFloor(context, floor), await raceOfGuard(context, guard)];
  const goals = ofGuard.map(({ where, rounds, wronglyAllowed }) => ({
    what: `guard, ${where}: let go although in use, of ${rounds.toLocaleString('en-US')}`,
    found: wronglyAllowed,
    atMost: 0,
  }));
  return [table([...ofFloor, ...ofGuard]), goalTable('The race against what was wanted', goals)];
}

async function raceOfFloor({ binaries, log }: BenchContext, rounds: number): Promise<readonly Outcome[]> {
  const controlPlane = await ControlPlane.start(binaries);
  try {
    const [first, second] = [controlPlane.apiServer, await controlPlane.startApiServer()];
    await applyFloor(controlPlane);
    log('Waiting for both API servers to have the policies …');
    for (const { admin } of [first, second]) await awaitFloor(admin);
    return await racesOf('policy floor', first, second, rounds, log);
  } finally {
    await controlPlane.stop();
  }
}

/** The guard reads from the first API server; half of the workers write to the other one. */
async function raceOfGuard({ binaries, log }: BenchContext, rounds: number): Promise<readonly Outcome[]> {
  const guarded = await GuardedCluster.start(binaries, { direct: true });
  try {
    const { controlPlane } = guarded;
    const [first, second] = [controlPlane.apiServer, await controlPlane.startApiServer()];
    const outcomes = await racesOf('guard', first, second, rounds, log);
    // Anything else would be a refusal for want of knowledge, and proof of nothing.
    const others = outcomes.flatMap(({ refusals }) => Object.keys(refusals)).filter((code) => code !== 'MCG_IN_USE');
    if (others.length > 0) throw new Error(`The guard refused with ${others.join(', ')}.`);
    return outcomes;
  } finally {
    await guarded.stop();
  }
}

async function racesOf(
  who: string,
  first: ApiServer,
  second: ApiServer,
  rounds: number,
  log: (line: string) => void,
): Promise<readonly Outcome[]> {
  const config = renderedName();
  await first.admin.create(PATHS.configs, machineConfig({ name: config }));
  const configsOf = () => ({ currentConfig: config, desiredConfig: config });
  await createFleet(first.admin, { to: NODES, configsOf });
  const same: Lane = { write: first.admin, delete: first.admin };
  const across: readonly Lane[] = [
    { write: first.admin, delete: second.admin },
    { write: second.admin, delete: first.admin },
  ];
  const outcomes: Outcome[] = [];
  for (const [where, lanes] of [
    ['one API server', [same]],
    ['written to one, deleted at another', across],
  ] as const) {
    log(`${who}, ${where}: ${rounds} rounds …`);
    const workers = Array.from({ length: WORKERS }, (_, index) => lanes[Math.floor(index / 2) % lanes.length] ?? same);
    const result = await race({ lanes: workers, rounds });
    log(`${who}, ${where}: ${result.wronglyAllowed} of ${result.rounds} let go in ${result.seconds.toFixed(0)} s`);
    outcomes.push({ who, where, ...result });
  }
  return outcomes;
}

function table(outcomes: readonly Outcome[]): Table {
  return {
    title: 'Configs let go although a node had them',
    columns: [
      { key: 'who', heading: 'who decides' },
      { key: 'where', heading: 'where' },
      { key: 'rounds', heading: 'rounds' },
      { key: 'wronglyAllowed', heading: 'let go' },
      { key: 'percent', heading: '%', digits: 2 },
      { key: 'atMostPercent', heading: 'at most, %', digits: 2 },
      { key: 'freed', heading: 'free ones deleted' },
      { key: 'perSecond', heading: 'rounds/s' },
    ],
    rows: outcomes.map(({ who, where, rounds, wronglyAllowed, freed, seconds }) => ({
      who,
      where,
      rounds,
      wronglyAllowed,
      percent: (wronglyAllowed / rounds) * 100,
      atMostPercent: atMost(wronglyAllowed, rounds) * 100,
      freed: `${freed.allowed} of ${freed.tried}`,
      perSecond: Math.round(rounds / seconds),
    })),
    notes: [
      `${WORKERS} workers, each with a node of its own, ${NODES} other nodes.`,
      'At most: what the true share may be with 95 % confidence; none of 10,000 is not "never".',
      'Free ones: every 20th round also asks for the config that the node has just left; a cache may not know that yet and refuse.',
    ],
  };
}

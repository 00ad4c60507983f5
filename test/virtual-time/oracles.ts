import { expect } from 'vitest';
import type { Answer, VirtualReplica } from './replica.ts';
import { OTHER, UNUSED, USED, type VirtualWorld } from './world.ts';

/** The guard decides within 3.8 s of the 5 s (docs/internals/testing.md). */
const DECISION_SECONDS = 3.81;
/** After a fault, the deletion of an unused config is allowed. */
const RECOVERY_MS = 10_000;
/** A relist can hang on a dead connection for a minute, and then pauses for up to 30 s. */
const INDEX_MS = 100_000;
/** The TLS profile is read every 10 s. A list pauses for up to 30 s after an object that the guard cannot read. */
const CONDITIONS_MS = 35_000;
/** The last denial is in the status within 10 s (docs/operate.md), and at most as long again after another one. */
const ANSWERS_MS = 13_000;
/** API servers send a bookmark each minute (docs/monitoring.md). */
const MAX_INDEX_AGE_SECONDS = 61;

/** An answer must be right in the middle of a fault, too. */
export function expectRight({ code, seconds, isUsed, allowed }: Answer): void {
  expect(code).toMatch(/^MCG_/);
  expect(seconds).toBeLessThanOrEqual(DECISION_SECONDS);
  expect(isUsed && allowed, 'the deletion of a config in use is allowed').toBe(false);
}

/** Each answer about an existing config is in the log and the metrics, with its user and code. */
export async function expectRecorded(replica: VirtualReplica): Promise<void> {
  const known = replica.answers.filter(({ isForged }) => !isForged);
  const lines = replica.lines.filter((line) => 'verdict' in line);
  expect(lines).toMatchObject(
    known.map(({ uid, config: name, user, code, isDryRun: dryRun }) => ({ uid, name, user, code, dryRun })),
  );

  const series = await replica.scrape();
  const counts: Record<string, number> = {};
  for (const { verdict, code, dryRun } of lines) {
    const labels = `verdict="${String(verdict)}",code="${String(code)}",dry_run="${String(dryRun)}"`;
    const name = `mcguard_decisions_total{${labels}}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  const counted = [...series].filter(([name, count]) => name.startsWith('mcguard_decisions_total') && count > 0);
  expect(Object.fromEntries(counted)).toEqual(counts);
  expect(series.get('mcguard_missing_config_reviews_total')).toBe(replica.answers.length - known.length);
}

/** Users see each denial, unless it was a dry run, as an Event, and the last one in the status. */
export async function expectAnnounced(world: VirtualWorld, replica: VirtualReplica, since = 0): Promise<void> {
  const answers = replica.answers.filter(({ atSeconds }) => atSeconds >= since);
  const announced = answers.filter(({ isForged, isDryRun }) => !isForged && !isDryRun);
  const denied = announced.filter(({ allowed }) => !allowed);
  await world.clock.pass(10);
  const events = world.listEvents('DeletionDenied').map((event) => {
    const { name } = event['regarding'] as { readonly name: string };
    return `${name} ${String(event['note']).split(': ')[0]}`;
  });
  for (const { config, user } of denied) expect(events).toContain(`${config} ${user}`);
  const last = denied.at(-1);
  await world.clock.within(ANSWERS_MS, 'the last denial is in the status', () => {
    const { name, user } = world.guard?.status?.lastDenial ?? {};
    return name === last?.config && user === last?.user;
  });
}

/** After a fault, every part of the guard works again. */
export async function expectRecovered(world: VirtualWorld): Promise<void> {
  const { clock, replicas } = world;
  for (const replica of replicas) {
    await clock.eventually(RECOVERY_MS, async () => {
      const answer = await replica.review(UNUSED, { dryRun: true });
      expectRight(answer);
      expect(answer).toMatchObject({ allowed: true });
    });
    expect((await replica.review(USED, { dryRun: true })).code).toBe('MCG_IN_USE');
  }

  // A change of a node and a pool reaches the index and the status.
  const moveAndAwait = async (config: string, count: number) => {
    world.setNode('worker-1', config);
    world.setPoolStatus(config);
    const isReported = () => world.guard?.status?.protectedConfigs === count;
    await clock.within(INDEX_MS, `the status reports ${count} configs in use`, isReported);
  };
  await moveAndAwait(OTHER, 2);
  await moveAndAwait(USED, 1);
  const areTrue = () => world.guard?.status?.conditions?.every(({ status }) => status === 'True');
  await clock.within(CONDITIONS_MS, 'every condition is True', areTrue);
  for (const replica of replicas) {
    expect(await replica.probe()).toBe('200 ok');
    await clock.eventually(INDEX_MS, async () => {
      const series = await replica.scrape();
      for (const resource of ['nodes', 'machineconfigpools', 'machineosbuilds'])
        expect(series.get(`mcguard_index_age_seconds{resource="${resource}"}`)).toBeLessThan(MAX_INDEX_AGE_SECONDS);
      expect(series.get('mcguard_index_age_seconds{resource="machineconfigguards"}')).toBeLessThan(2);
      expect(series.get('mcguard_protected_configs')).toBe(1);
      expect(series.get('mcguard_dangling_references')).toBe(0);
    });
  }
}

import { afterAll, describe, expect, test } from 'vitest';
import { IS_LONG, log } from '../../support/runner.ts';
import { findUnchangedDaemon } from '../operator-binaries.ts';
import { OperatorCluster } from '../operator-cluster.ts';
import { openFollower } from './follow-check.ts';
import { FoundingDeadlock } from './founding-deadlock.ts';
import { Lab } from './lab.ts';
import { BOOTED, type Scenario, SCENARIOS, type Step, UNCHANGED_BOOT_OBSTACLE } from './scenarios.ts';

const operator = await OperatorCluster.shared();
const { controlPlane } = operator.installed;
const api = controlPlane.connectApi();
const follower = await openFollower(controlPlane);

afterAll(async () => {
  await operator.removeMachines();
  api.close();
});

/** Runs the steps. Returns a line for each, with the seconds until its last report. */
async function runSteps(lab: Lab, steps: readonly Step[]): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const { text, act, rows, failures = 0 } of steps) {
    const startedAt = performance.now();
    await act(lab);
    const seconds = await lab.awaitRows(rows, startedAt);
    await lab.awaitFailures(failures);
    lines.push(`${text}: ${rows.length === 0 ? 'no report' : `${seconds.toFixed(1)} s`}`);
  }
  return lines;
}

/** Runs a scenario in a pool of its own, and prints when the node reported what. */
async function expectScenario(scenario: Scenario, pool: string, daemon?: string): Promise<void> {
  const { firstBoot, isXMissing, booted = BOOTED, steps = [], commands = [], byHand } = scenario;
  const { followed = [], afterwards = [] } = scenario;
  const lab = await Lab.start(operator, api, { pool, firstBoot, isXMissing, daemon });
  const lines: string[] = [];
  try {
    await lab.awaitRows(booted, performance.now());
    if (isXMissing !== true) await operator.awaitSettled(lab.machine, lab.nameOf('X'));
    lines.push(...(await runSteps(lab, steps)));

    const startedAt = performance.now();
    const printed = await follower.follow(pool, async (advice) => {
      if (byHand === undefined) throw new Error(`no person can follow "${advice}"`);
      await byHand(lab);
    });
    const seconds = await lab.awaitRows(followed, startedAt);
    lines.push(`${printed.length} commands of check: Done after ${seconds.toFixed(1)} s`);
    expect(printed.map((line) => lab.toLetters(line))).toEqual(commands);
    expect(await follower.follow(pool, expect.unreachable)).toEqual([]);

    lines.push(...(await runSteps(lab, afterwards)));
    const files = Object.keys(scenario.disk).map((file) => [file, lab.machine.read(file)] as const);
    expect(Object.fromEntries(files)).toEqual(scenario.disk);
    expect(lab.machine.bootCount).toBe(scenario.bootCount);
  } finally {
    log(`${[`${pool}:`, ...lines, lab.formatTimeline()].join('\n  ')}\n`);
    await lab.stop();
  }
}

// Alone, because it stops and starts the controller.
test('founding deadlock: check ends it, and a published script ends it with files that stay for ever', async () => {
  const deadlock = await FoundingDeadlock.prepare(operator);
  await deadlock.expectEndByCheck(follower);
  await deadlock.expectEndByScript();
});

describe.concurrent('the real machine-config-daemon, and the advice of check', () => {
  for (const scenario of SCENARIOS.filter(({ isShort }) => isShort === true || IS_LONG)) {
    const { name, title, firstBoot } = scenario;
    test(`${name}: ${title}`, async ({ skip }) => {
      if (firstBoot === 'nothing' && UNCHANGED_BOOT_OBSTACLE !== undefined) skip(UNCHANGED_BOOT_OBSTACLE);
      await expectScenario(scenario, `mc-${name}`);
    });
  }

  for (const scenario of SCENARIOS.filter(({ hasLongWaits }) => hasLongWaits === true && IS_LONG)) {
    const { name, title } = scenario;
    test(`${name}, with the waits of a cluster: ${title}`, async () => {
      await expectScenario(scenario, `mc-${name}-slow`, await findUnchangedDaemon(operator.release, log));
    });
  }
});

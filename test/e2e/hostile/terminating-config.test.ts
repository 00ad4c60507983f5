import { beforeAll, expect, test } from 'vitest';

import type { GuardStatus } from '../../../src/guard/status-writer.ts';
import type { CheckReport } from '../../../src/inspect/check-report.ts';
import { until } from '../control-plane/until.ts';
import { readGauge } from '../monitoring/read-gauge.ts';
import { PATHS } from '../support/paths.ts';
import { sharedInstalledCluster } from '../support/shared-clusters.ts';
import { Shell } from '../support/shell.ts';

const FINALIZER = 'example.com/hold';

const installed = await sharedInstalledCluster();
const { cluster, controlPlane } = installed;
const { admin } = cluster;
const shell = await Shell.open(controlPlane);

beforeAll(() => installed.clear());

/** Waits until the condition ReferencesConsistent has this reason, and returns it. */
async function awaitCondition(reason: string) {
  let status: Partial<GuardStatus> | undefined;
  const find = async () => {
    status = (await admin.find(PATHS.guard))?.status;
    // A new object gets a denial before its conditions.
    const condition = status?.conditions?.find(({ type }) => type === 'ReferencesConsistent');
    return condition?.reason === reason && condition;
  };
  // A new leader can take half a minute.
  return until(() => `${reason}, not ${JSON.stringify(status)}`, find, { timeoutMs: 40_000 });
}

async function check() {
  const { exitCode, stdout } = await shell.run('machineconfig-guard check --output json');
  const { problems } = JSON.parse(stdout) as CheckReport;
  return { exitCode, problems };
}

test('reports a config that a node moves to while it is being deleted, until it is gone', async () => {
  const [other, config] = [await cluster.config(), await cluster.config()];
  await admin.patch(`${PATHS.configs}/${config}`, { metadata: { finalizers: [FINALIZER] } });
  const node = await cluster.node({ currentConfig: other, desiredConfig: other });
  await cluster.pool({ name: 'worker', spec: other, status: other });
  await awaitCondition('AllExist');
  expect((await cluster.delete(config)).status).toBe(200);
  expect((await admin.find(`${PATHS.configs}/${config}`))?.metadata.deletionTimestamp).toBeDefined();
  expect(await check()).toEqual({ exitCode: 0, problems: [] });

  await cluster.moveNode(node, { desiredConfig: config });

  const { status, message } = await awaitCondition('ReferencedConfigTerminating');
  expect(status).toBe('False');
  const finding = `in use and being deleted: ${config}, referenced by node ${node} (desiredConfig). Move `;
  expect(message).toContain(`1 config ${finding}`);
  const { type, reason, note, regarding } = await cluster.awaitEvent(config);
  expect([type, reason, note]).toEqual([
    'Warning',
    'ReferencedConfigTerminating',
    expect.stringContaining(finding),
  ]);
  expect(regarding).toMatchObject({ kind: 'MachineConfig', name: config });
  const readCount = () => readGauge(installed, 'mcguard_terminating_configs_in_use');
  await expect.poll(readCount, { timeout: 10_000 }).toBe('1');
  const problem = { kind: 'Node', name: node, field: 'desiredConfig', config, recoverable: false };
  expect(await check()).toMatchObject({
    exitCode: 1,
    problems: [{ ...problem, code: 'ConfigTerminating' }],
  });
  const page = await shell.run('machineconfig-guard check');
  expect(page.exitCode).toBe(1);
  expect(page.stdout.replaceAll(/\s+/g, ' ')).toContain(
    `${config} is in use and being deleted; node ${node} names it.`,
  );

  await admin.patch(`${PATHS.configs}/${config}`, { metadata: { finalizers: null } });

  expect(await cluster.exists(config)).toBe(false);
  // Two detectors find the loss, each in its own second.
  const readMessage = async () => (await awaitCondition('DanglingReferences')).message;
  await expect.poll(readMessage, { timeout: 10_000 }).not.toContain('being deleted');
  await expect.poll(readCount, { timeout: 10_000 }).toBe('0');
  expect(await check()).toMatchObject({ exitCode: 1, problems: [{ ...problem, code: 'ConfigMissing' }] });
  expect(await cluster.eventsAbout(config)).toHaveLength(1);
  await installed.clear();
}, 120_000);

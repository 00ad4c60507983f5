import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { toConfigName } from '../../../src/decision/config-name.ts';
import type { ConfigReport, RestoreReport } from '../../../src/cli/restore/restore-report.ts';
import { startCommand } from '../../cli/command-process.ts';
import { runProgram } from '../../cli/run-program.ts';
import { type ConfigOnDisk, createConfigOnDisk, toConfigOnDisk } from '../../support/config-on-disk.ts';
import { unique } from '../support/cluster.ts';
import { pool as poolObject } from '../support/objects.ts';
import { PATHS } from '../support/paths.ts';
import { runProcess } from '../support/process.ts';
import { PROGRAM } from '../support/program.ts';
import { StuckCluster, type StuckPool } from './stuck-cluster.ts';

const stuck = await StuckCluster.shared();
const { cluster, controlPlane } = stuck;
const { admin } = cluster;
const { kubeconfig } = controlPlane.apiServer;

async function writeFileOf({ text }: Pick<ConfigOnDisk, 'text'>, directory = controlPlane.directory) {
  const file = join(directory, `${unique('config')}.json`);
  await writeFile(file, text);
  return file;
}

/** Runs `restore --confirm --timeout 1s --output json`. */
async function runRestore(...args: string[]): Promise<{ exitCode: number; report: RestoreReport; stderr: string }> {
  const flags = ['--confirm', '--timeout', '1s', '--output', 'json', '--kubeconfig', kubeconfig];
  const { exitCode, stdout, stderr } = await runProgram(['restore', ...args, ...flags]);
  return { exitCode, report: (stdout === '' ? {} : JSON.parse(stdout)) as RestoreReport, stderr };
}

type Case = readonly [
  code: NonNullable<ConfigReport['rejection']>['code'],
  advice: string,
  prepare: (pool: StuckPool) => Promise<readonly string[]>,
];

const REJECTIONS: readonly Case[] = [
  ['NotReferenced', 'see which configs are missing', async () => ['--from', await writeFileOf(createConfigOnDisk())]],
  [
    'NameDiffers',
    'from another node or file',
    async ({ missing, rendered }) => [`mc/${rendered}`, '--from', await writeFileOf(missing)],
  ],
  [
    'NoIgnitionContent',
    '/etc/mcs-machine-config-content.json',
    async ({ missing: { spec, name } }) => {
      const trap = { ...spec, config: { ignition: { version: '3.4.0' } } };
      return ['--from', await writeFileOf(toConfigOnDisk('master', trap, name))];
    },
  ],
  [
    'HashDiffers',
    'unexpected on-disk state',
    async ({ missing: { spec, name } }) => [
      '--from',
      await writeFileOf(toConfigOnDisk('master', { ...spec, fips: true }, name)),
    ],
  ],
  [
    'SelectorMatches',
    'Change its selector first',
    async ({ missing }) => {
      const everything = poolObject({ name: 'everything' });
      await admin.create(PATHS.pools, {
        ...everything,
        spec: { ...everything.spec, machineConfigSelector: {} },
      });
      return ['--from', await writeFileOf(missing)];
    },
  ],
  [
    'SelectorMatches',
    'would be rendered anew',
    async ({ missing }) => {
      const unlabeled = poolObject({ name: 'unlabeled' });
      const machineConfigSelector = { matchExpressions: [{ key: 'a', operator: 'DoesNotExist' }] };
      await admin.create(PATHS.pools, {
        ...unlabeled,
        spec: { ...unlabeled.spec, machineConfigSelector },
      });
      return ['--from', await writeFileOf(missing)];
    },
  ],
  [
    'Terminating',
    'remove its finalizers',
    async ({ missing }) => {
      await cluster.config({ name: missing.name });
      await admin.patch(`${PATHS.configs}/${missing.name}`, {
        metadata: { finalizers: ['example.com/a'] },
      });
      await cluster.delete(missing.name);
      return ['--from', await writeFileOf(missing)];
    },
  ],
];

test.each(REJECTIONS)('rejects with %s, and writes nothing', async (code, advice, prepare) => {
  const pool = await stuck.createStuckPool();
  const args = await prepare(pool);
  const before = [await admin.list(PATHS.configs), await stuck.getPool()];

  const { exitCode, report, stderr } = await runRestore(...args);

  expect(exitCode).toBe(1);
  expect(stderr).toBe('');
  expect(report.configs).toMatchObject([{ outcome: 'rejected', rejection: { code }, steps: [] }]);
  expect(report.configs[0]?.rejection?.advice.text).toContain(advice);
  expect([await admin.list(PATHS.configs), await stuck.getPool()]).toEqual(before);
  await admin.patch(`${PATHS.configs}/${pool.missing.name}`, { metadata: { finalizers: null } }).catch(() => {});
});

test('exits with 0 and writes nothing if the config exists', async () => {
  const { missing } = await stuck.createStuckPool();
  await admin.delete(PATHS.nodes);
  await cluster.config({ name: missing.name });
  const before = await stuck.findConfig(missing.name);
  const { exitCode, report } = await runRestore(missing.name, '--from', await writeFileOf(missing));
  expect([exitCode, report.ok, report.configs[0]?.outcome]).toEqual([0, true, 'exists']);
  expect(await stuck.findConfig(missing.name)).toEqual(before);
});

test('with --accept-content, says what the daemon does and creates the config', async () => {
  const { missing } = await stuck.createStuckPool({ masters: 3 });
  const changed = toConfigOnDisk('master', { ...missing.spec, fips: true }, missing.name);
  const { report } = await runRestore('--accept-content', '--from', await writeFileOf(changed));
  expect(report.configs[0]?.warnings).toEqual([expect.stringContaining('unexpected on-disk state')]);
  expect((await stuck.findConfig(missing.name))?.spec).toEqual(changed.spec);
});

test('creates the config without an owner if its pool does not exist', async () => {
  await stuck.createStuckPool();
  const infra = createConfigOnDisk('infra');
  await cluster.node({ currentConfig: infra.name, desiredConfig: infra.name });
  const { exitCode, report } = await runRestore('--from', await writeFileOf(infra));
  expect(exitCode).toBe(0);
  expect(report.configs[0]?.warnings).toEqual([expect.stringContaining('Its pool does not exist')]);
  expect((await stuck.findConfig(infra.name))?.metadata.ownerReferences).toBeUndefined();
});

test('restores from a directory only the missing configs that a node or a pool names', async () => {
  const { missing, rendered } = await stuck.createStuckPool({ masters: 3, status: 'rendered-master-a' });
  await stuck.setPoolStatus({ updatedMachineCount: 1 });
  for (const node of await admin.list(PATHS.nodes)) await stuck.setNodeState(node.metadata.name, 'Done');
  const directory = join(controlPlane.directory, unique('configs'));
  await mkdir(directory);
  const unreferenced = createConfigOnDisk('worker');
  const existing = toConfigOnDisk('master', missing.spec, toConfigName(rendered));
  for (const config of [missing, unreferenced, existing]) await writeFileOf(config, directory);

  const { exitCode, report } = await runRestore('--from', directory);

  expect(exitCode).toBe(0);
  const outcomes = new Map(report.configs.map(({ name, outcome }) => [name, outcome]));
  expect(outcomes).toEqual(
    new Map([
      [missing.name, 'restored'],
      [rendered, 'exists'],
    ]),
  );
  expect(await cluster.exists(missing.name)).toBe(true);
  expect(await cluster.exists(unreferenced.name)).toBe(false);
});

test('reads standard input, prints the plan, and prints the command that unpauses after Ctrl-C', async () => {
  const { missing } = await stuck.createStuckPool();
  const args = [PROGRAM, 'restore', '--from', '-', '--kubeconfig', kubeconfig];
  const plan = await runProcess(process.execPath, args, { input: missing.text });
  expect(plan).toMatchObject({ exitCode: 0, stderr: '' });
  expect(plan.stdout).toMatch(/^ {2}1\. pause pool master$/m);
  expect(plan.stdout).toMatch(/--confirm\.\n$/);

  const file = await writeFileOf(missing);
  const options = ['--from', file, '--kubeconfig', kubeconfig, '--confirm'];
  const command = startCommand(['restore', ...options], PROGRAM);
  await expect.poll(command.stderr).toContain('waiting for 1 machine');
  command.child.kill('SIGINT');
  const { exitCode, stdout, stderr } = await command.outcome;

  expect(exitCode).toBe(130);
  expect(stdout).toMatch(
    /^Incomplete: interrupted\. Run the same command again to continue\. Until then pool master stays paused\.\n$/m,
  );
  const [, undo = ''] = /unpause it: oc (.*)$/m.exec(stderr) ?? [];
  expect((await stuck.getPool()).spec.paused).toBe(true);
  await runProcess('bash', ['-c', `${controlPlane.kubectl} --kubeconfig ${kubeconfig} ${undo}`]);
  const { spec, metadata } = await stuck.getPool();
  expect([spec.paused, metadata.annotations]).toEqual([false, undefined]);
});

test.each([
  [['--from', '/nonexistent'], 2, /does not exist/],
  [['--from', 'control1'], 2, /use --from node\/control1/],
  [['--from', ' '], 2, /Must be a file/],
  [['--from', 'node/'], 2, /Must be a file/],
  [[], 2, /required option '--from/],
  [['--from', 'node/unknown'], 1, /node unknown does not exist/],
])('with %j, exits with %i', async (args, exitCode, text) => {
  const result = await runRestore(...args);
  expect(result.exitCode).toBe(exitCode);
  expect(result.stderr).toMatch(text);
});

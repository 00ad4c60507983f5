import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { toConfigName } from '../../../src/decision/references.ts';
import type { RestoreReport } from '../../../src/cli/restore/restore-run.ts';
import { startCommand } from '../../cli/command-process.ts';
import { runProgram } from '../../cli/run-program.ts';
import { createConfigOnDisk, toConfigOnDisk } from '../../support/config-on-disk.ts';
import { unique } from '../support/cluster.ts';
import { PATHS } from '../support/paths.ts';
import { runProcess } from '../support/process.ts';
import { PROGRAM } from '../support/program.ts';
import { StuckCluster } from './stuck-cluster.ts';

const stuck = await StuckCluster.shared();
const { cluster, controlPlane } = stuck;
const { admin } = cluster;
const { kubeconfig } = controlPlane.apiServer;

async function writeConfig({ text }: { readonly text: string }, directory = controlPlane.directory) {
  const file = join(directory, `${unique('config')}.json`);
  await writeFile(file, text);
  return file;
}

/** Runs `restore --confirm --timeout 1s --output json`. */
async function runRestore(...args: string[]) {
  const flags = ['--confirm', '--timeout', '1s', '--output', 'json', '--kubeconfig', kubeconfig];
  const { exitCode, stdout, stderr } = await runProgram(['restore', ...args, ...flags]);
  return { exitCode, report: (stdout === '' ? {} : JSON.parse(stdout)) as RestoreReport, stderr };
}

test('rejects a config that is being deleted, and one whose content is another, and writes nothing', async () => {
  const { missing } = await stuck.createStuckPool();
  const { name, spec } = missing;
  const expectRejected = async (config: { readonly text: string }, code: string, advice: string) => {
    const before = [await admin.list(PATHS.configs), await stuck.getPool()];
    const { exitCode, report, stderr } = await runRestore('--from', await writeConfig(config));
    expect([exitCode, stderr]).toEqual([1, '']);
    expect(report.configs).toMatchObject([{ outcome: 'rejected', rejection: { code }, steps: [] }]);
    expect(report.configs[0]?.rejection?.advice.text).toContain(advice);
    expect([await admin.list(PATHS.configs), await stuck.getPool()]).toEqual(before);
  };
  await expectRejected(
    toConfigOnDisk('master', { ...spec, fips: true }, name),
    'HashDiffers',
    'unexpected on-disk state',
  );

  await cluster.config({ name });
  await admin.patch(`${PATHS.configs}/${name}`, { metadata: { finalizers: ['example.com/a'] } });
  await cluster.delete(name);
  await expectRejected(missing, 'Terminating', 'remove its finalizers');
  await admin.patch(`${PATHS.configs}/${name}`, { metadata: { finalizers: null } });
});

test('with --accept-content, says what the daemon does and creates the config', async () => {
  const { missing } = await stuck.createStuckPool({ masters: 3 });
  const changed = toConfigOnDisk('master', { ...missing.spec, fips: true }, missing.name);
  const { report } = await runRestore('--accept-content', '--from', await writeConfig(changed));
  expect(report.configs[0]?.warnings).toEqual([expect.stringContaining('unexpected on-disk state')]);
  expect((await stuck.findConfig(missing.name))?.spec).toEqual(changed.spec);
});

test('creates the config without an owner if its pool does not exist', async () => {
  await stuck.createStuckPool();
  const infra = createConfigOnDisk('infra');
  await cluster.node({ currentConfig: infra.name, desiredConfig: infra.name });
  const { exitCode, report } = await runRestore('--from', await writeConfig(infra));
  expect(exitCode).toBe(0);
  expect(report.configs[0]?.warnings).toEqual([expect.stringContaining('Its pool does not exist')]);
  expect((await stuck.findConfig(infra.name))?.metadata.ownerReferences).toBeUndefined();
});

test('restores from a directory only the missing configs that a node or a pool names', async () => {
  const status = { configuration: { name: 'rendered-master-a' }, updatedMachineCount: 1 };
  const { missing, rendered, masters } = await stuck.createStuckPool({ masters: 3, status });
  for (const master of masters) await stuck.setNodeState(master, 'Done');
  const directory = join(controlPlane.directory, unique('configs'));
  await mkdir(directory);
  const unreferenced = createConfigOnDisk('worker');
  const existing = toConfigOnDisk('master', missing.spec, toConfigName(rendered));
  for (const config of [missing, unreferenced, existing]) await writeConfig(config, directory);

  const { exitCode, report } = await runRestore('--from', directory);

  expect(exitCode).toBe(0);
  const outcomes = report.configs.map(({ name, outcome }) => [name, outcome]);
  expect(Object.fromEntries(outcomes)).toEqual({ [missing.name]: 'restored', [rendered]: 'exists' });
  expect(await cluster.exists(missing.name)).toBe(true);
  expect(await cluster.exists(unreferenced.name)).toBe(false);
});

test('reads standard input and prints the plan', async () => {
  const { missing } = await stuck.createStuckPool();
  const args = [PROGRAM, 'restore', '--from', '-', '--kubeconfig', kubeconfig];
  const plan = await runProcess(process.execPath, args, { input: missing.text });
  const stdout = expect.stringMatching(/^ {2}1\. pause pool master$.*--confirm\.\n$/ms) as string;
  expect(plan).toMatchObject({ exitCode: 0, stderr: '', stdout });
});

test.each([
  ['SIGINT', 130],
  // As a shell reports it.
  ['SIGKILL', 137],
] as const)(
  'after %s, the pool stays paused, until a person gives up or continues',
  async (signal, expectedExitCode) => {
    const { missing, masters } = await stuck.createStuckPool();
    const args = ['restore', '--from', await writeConfig(missing), '--kubeconfig', kubeconfig, '--confirm'];
    const command = startCommand(args, PROGRAM);
    await expect.poll(command.stderr).toContain('waiting for 1 machine');
    command.child.kill(signal);
    const { exitCode, stdout, stderr } = await command.outcome;

    expect(exitCode).toBe(expectedExitCode);
    expect(await stuck.getPause()).toEqual([true, missing.name, missing.name]);
    // A killed process can write nothing.
    const [, undo = ''] = /unpause it: oc (.*)$/m.exec(stderr) ?? [];
    expect([undo !== '', stdout.includes('Incomplete: interrupted.')]).toEqual(Array(2).fill(signal === 'SIGINT'));
    for (const master of masters) await stuck.setNodeState(master, 'Done');
    await stuck.joinMaster(missing.name, 'Done');
    if (signal === 'SIGINT') {
      expect(stdout).toMatch(/Run the same command again to continue\. Until then pool master stays paused\.\n$/m);
      await runProcess('bash', ['-c', `${controlPlane.binaries.kubectl} ${undo}`]);
      expect(await stuck.getPause()).toEqual([false, undefined, missing.name]);
    } else {
      expect((await runProgram(args)).stdout).toContain('Restored.');
    }
    expect(await stuck.getPause()).toEqual([false, undefined, missing.name]);
  },
);

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

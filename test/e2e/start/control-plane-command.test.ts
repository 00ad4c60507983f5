import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

import { afterAll, expect, onTestFinished, test } from 'vitest';

import { until } from '../control-plane/until.ts';
import { runProcess } from '../support/process.ts';
import { PROGRAM } from '../support/program.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const COMMAND = ['--import', 'tsx', 'test/e2e/control-plane/command.ts'];
const empty = await mkdtemp(join(tmpdir(), 'mcg-empty-'));

afterAll(() => rm(empty, { recursive: true }));

/** Starts the command and returns its output when it is ready. */
async function startCommand() {
  const command = spawn(process.execPath, COMMAND, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void command.kill('SIGKILL'));
  return { command, output: await readUntil(command.stdout, 'Ctrl-C stops it') };
}

async function readUntil(stream: Readable, end: string): Promise<string> {
  let output = '';
  stream.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  return await until(end, async () => (output.includes(end) ? output : undefined), { timeoutMs: 40_000 });
}

async function listProcesses(directory: string): Promise<readonly string[]> {
  const { stdout } = await runProcess('ps', ['-A', '-o', 'args=']);
  return stdout.split('\n').filter((line) => line.includes(directory));
}

test.for(['SIGTERM', 'SIGKILL'] as const)('leaves no process and no file after %s', async (signal) => {
  const { command, output } = await startCommand();
  const [, file = ''] = /KUBECONFIG=(\S+)/.exec(output) ?? [];
  const directory = dirname(dirname(file));
  expect((await listProcesses(directory)).length).toBeGreaterThanOrEqual(3);

  command.kill(signal);

  const exit = signal === 'SIGTERM' ? [0, null] : [null, signal];
  expect(await once(command, 'exit')).toEqual(exit);
  await expect.poll(() => listProcesses(directory), { timeout: 10_000 }).toEqual([]);
  await expect.poll(() => existsSync(directory), { timeout: 10_000 }).toBe(false);
});

test('prints an export line with which the guard, its modes and an override can be tried', async () => {
  const { output } = await startCommand();
  const [, exportLine = ''] = /^ {2}(export .*)$/m.exec(output) ?? [];
  const shell = (line: string) => runProcess('bash', ['-c', `${exportLine}; ${line}`], { cwd: ROOT });
  const dev = spawn('bash', ['-c', `${exportLine}; exec ${process.execPath} ${PROGRAM} dev`]);
  onTestFinished(() => void dev.kill('SIGKILL'));
  const devOutput = readUntil(dev.stdout, ' mode is Warn, holdSuperseded is 0s');
  await readUntil(dev.stdout, 'press Ctrl-C to stop');
  // Of docs/examples/worker-in-use.yaml.
  const used = 'rendered-worker-a1a2c3d4e5f60718293a4b5c6d7e8f90';
  const other = 'rendered-worker-e83f61d20c9b4a57a6f2d8139e0c7b54';
  expect((await shell('kubectl apply -f docs/examples/worker-in-use.yaml')).exitCode).toBe(0);

  const denial = await shell(`kubectl delete machineconfig ${used}`);
  expect([denial.exitCode, denial.stderr]).toEqual([1, expect.stringContaining('MCG_IN_USE')]);
  await shell(`kubectl annotate machineconfig ${other} machineconfig-guard.io/allow-deletion=trying`);
  const override = await shell(`kubectl delete machineconfig ${other}`);
  expect([override.exitCode, override.stderr]).toEqual([0, expect.stringContaining('MCG_OVERRIDDEN')]);

  const [patch = ''] = /kubectl patch .*$/m.exec(output) ?? [];
  expect((await shell(patch)).exitCode).toBe(0);
  expect(await devOutput).toContain(' mode is Enforce, holdSuperseded is 0s');
  const warning = await shell(`kubectl delete machineconfig ${used}`);
  expect([warning.exitCode, warning.stderr]).toEqual([0, expect.stringContaining('MCG_WOULD_DENY')]);
});

test.for([
  ['There is no control plane of Kubernetes 1.33.0 to run on: install Go', {}],
  [`KUBEBUILDER_ASSETS=${empty} has no etcd, no`, { KUBEBUILDER_ASSETS: empty }],
] as const)('prints one sentence without Go and binaries: %s', async ([message, assets]) => {
  const env = { PATH: empty, XDG_CACHE_HOME: empty, HOME: empty, ...assets };

  const result = await runProcess(process.execPath, COMMAND, { cwd: ROOT, env });

  expect(result).toMatchObject({ exitCode: 1, stdout: '' });
  expect(result.stderr).toContain(message);
  expect(result.stderr.trimEnd().split('\n')).toHaveLength(1);
  expect(await readdir(empty)).toEqual([]);
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, expect, onTestFinished, test } from 'vitest';

import { runProcess } from '../support/process.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const COMMAND = ['--import', 'tsx', 'test/e2e/control-plane/command.ts'];
const empty = await mkdtemp(join(tmpdir(), 'mcg-empty-'));

afterAll(() => rm(empty, { recursive: true }));

/** Starts the command and returns its output when it is ready. */
async function startCommand() {
  const command = spawn(process.execPath, COMMAND, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void command.kill('SIGKILL'));
  let output = '';
  command.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await expect.poll(() => output).toContain('Ctrl-C stops it');
  return { command, output };
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
  await expect.poll(() => listProcesses(directory)).toEqual([]);
  await expect.poll(() => existsSync(directory)).toBe(false);
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

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, expect, onTestFinished, test } from 'vitest';

import { until } from '../control-plane/until.ts';
import { runProcess } from '../support/process.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const COMMAND = ['--import', 'tsx', 'test/e2e/control-plane/command.ts'];
const RUN = ['--import', 'tsx', 'test/e2e/run.ts'];
const empty = await mkdtemp(join(tmpdir(), 'mcg-empty-'));

afterAll(() => rm(empty, { recursive: true }));

async function listProcesses(directory: string): Promise<readonly string[]> {
  const { stdout } = await runProcess('ps', ['-A', '-o', 'args=']);
  return stdout.split('\n').filter((line) => line.includes(directory));
}

test.for(['SIGTERM', 'SIGKILL'] as const)('leaves no process and no file after %s', async (signal) => {
  const command = spawn(process.execPath, COMMAND, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void command.kill('SIGKILL'));
  let output = '';
  command.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  const findKubeconfig = async () => /KUBECONFIG=(\S+)/.exec(output)?.[1];
  const directory = dirname(dirname(await until('the kubeconfig', findKubeconfig, { timeoutMs: 40_000 })));
  expect((await listProcesses(directory)).length).toBeGreaterThanOrEqual(3);

  command.kill(signal);

  expect(await once(command, 'exit')).toEqual(signal === 'SIGTERM' ? [0, null] : [null, signal]);
  await expect.poll(() => listProcesses(directory), { timeout: 10_000 }).toEqual([]);
  await expect.poll(() => existsSync(directory), { timeout: 10_000 }).toBe(false);
});

test.for([
  {
    args: COMMAND,
    env: {},
    exitCode: 1,
    message: 'There is no control plane of Kubernetes 1.33.0 to run on: install Go',
  },
  { args: RUN, env: {}, exitCode: 1, message: 'There is no control plane of Kubernetes 1.33.0 to run on: install Go' },
  {
    args: RUN,
    env: { KUBEBUILDER_ASSETS: empty },
    exitCode: 1,
    message: `KUBEBUILDER_ASSETS=${empty} has no etcd, no`,
  },
  { args: [...COMMAND, '--bogus'], env: {}, exitCode: 2, message: "Unknown option '--bogus'." },
  { args: [...COMMAND, '--version', '1.2.3'], env: {}, exitCode: 2, message: 'it can be 1.33.0 or 1.31.0.' },
])('prints one sentence without Go and binaries: $message', async ({ args, env, exitCode, message }) => {
  const base = { PATH: empty, XDG_CACHE_HOME: empty, HOME: empty };

  const result = await runProcess(process.execPath, args, { cwd: ROOT, env: { ...base, ...env } });

  expect(result).toMatchObject({ exitCode, stdout: '', stderr: expect.stringContaining(message) });
  expect(result.stderr.trimEnd().split('\n')).toHaveLength(1);
  expect(await readdir(empty)).toEqual([]);
});

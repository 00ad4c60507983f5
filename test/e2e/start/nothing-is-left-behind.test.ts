import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

import { expect, onTestFinished, test } from 'vitest';

import { until } from '../control-plane/until.ts';
import { RELEASE_VARIABLE } from '../support/run-binaries.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** `npm run control-plane`, once it is ready, and the folder with all its files. */
async function startCommand(): Promise<{ command: ChildProcess; directory: string; readonly output: () => string }> {
  const release = process.env[RELEASE_VARIABLE];
  const flags = release === undefined ? [] : [`--version=${release}`];
  const script = ['--import', 'tsx', 'test/e2e/control-plane/command.ts', ...flags];
  const command = spawn(process.execPath, script, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void command.kill('SIGKILL'));
  let output = '';
  command.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  const kubeconfig = await until('the kubeconfig to be printed', async () => /KUBECONFIG=(\S+)/.exec(output)?.[1], {
    timeoutMs: 40_000,
  });
  return { command, directory: dirname(dirname(kubeconfig)), output: () => output };
}

/** The command lines of processes that work in or with this folder. */
function processesOf(directory: string): string[] {
  const commandLines = execFileSync('ps', ['-A', '-o', 'args='], { encoding: 'utf8' }).split('\n');
  return commandLines.filter((commandLine) => commandLine.includes(directory));
}

test.for(['SIGINT', 'SIGTERM'] as const)('after %s the command exits with 0 and nothing is left', async (signal) => {
  const { command, directory, output } = await startCommand();
  expect(output()).toMatch(/^Kubernetes 1\.\d+\.\d+ with the CRDs of OpenShift 4\.\d+ is ready\./);
  expect(processesOf(directory).length).toBeGreaterThanOrEqual(3);

  command.kill(signal);

  expect(await once(command, 'exit')).toEqual([0, null]);
  expect(processesOf(directory)).toEqual([]);
  expect(existsSync(directory)).toBe(false);
});

test('when the command is killed without a chance to clean up, nothing is left either', async () => {
  const { command, directory } = await startCommand();

  command.kill('SIGKILL');

  await expect.poll(() => processesOf(directory), { timeout: 10_000 }).toEqual([]);
  await expect.poll(() => existsSync(directory), { timeout: 10_000 }).toBe(false);
});

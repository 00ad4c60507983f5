import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

import { expect, test } from 'vitest';

import { runProcess } from '../support/process.ts';

const COMMAND = ['--import', 'tsx', fileURLToPath(new URL('command.ts', import.meta.url))];
const LINK = /^mcg\d+-\d+$/;
/** The user nobody. */
const UNPRIVILEGED = 65_534;

/** The links and cgroups of all nodes on this machine. */
function findTraces(): readonly string[] {
  return [...Object.keys(networkInterfaces()), ...readdirSync('/sys/fs/cgroup/memory')].filter((name) =>
    LINK.test(name),
  );
}

test('says in one sentence that it needs root', async () => {
  const env = { PATH: process.env['PATH'], HOME: tmpdir() };

  const result = await runProcess(process.execPath, COMMAND, { env, uid: UNPRIVILEGED });

  expect(result).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: 'A node needs root: run the command with sudo.\n',
  });
});

test('leaves nothing behind after SIGKILL', async () => {
  const before = findTraces();
  const child = spawn(process.execPath, COMMAND, { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  await expect.poll(() => output, { timeout: 180_000 }).toContain('is ready.');
  const kubeconfig = /KUBECONFIG=(\S+)/.exec(output)?.[1] ?? '';
  const directory = dirname(dirname(kubeconfig));
  expect({ traces: findTraces().length - before.length, exists: existsSync(directory) }).toEqual({
    traces: 2,
    exists: true,
  });

  child.kill('SIGKILL');
  await once(child, 'exit');

  await expect.poll(findTraces, { timeout: 20_000 }).toEqual(before);
  await expect.poll(() => existsSync(directory), { timeout: 20_000 }).toBe(false);
  const findProcesses = async () => (await runProcess('pgrep', ['--full', directory])).stdout;
  await expect.poll(findProcesses, { timeout: 20_000 }).toBe('');
}, 240_000);

import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { expect, onTestFinished, test } from 'vitest';

import { runProcess } from '../support/process.ts';

const PROGRAM = fileURLToPath(new URL('../control-plane/command.ts', import.meta.url));
const COMMAND = ['--import', 'tsx', PROGRAM, '--nodes', '1'];

/** The link and the cgroup of a node, which have the same name. */
function findTraces(name: string): readonly string[] {
  const all = [...Object.keys(networkInterfaces()), ...readdirSync('/sys/fs/cgroup/memory')];
  return all.filter((other) => other === name);
}

test('leaves nothing behind after SIGKILL', async () => {
  const child = spawn(process.execPath, COMMAND, { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  await expect.poll(() => output, { timeout: 180_000 }).toContain('is ready.');
  const kubeconfig = /KUBECONFIG=(\S+)/.exec(output)?.[1] ?? '';
  const directory = dirname(dirname(kubeconfig));
  const config = readFileSync(join(directory, 'master-0', 'kubelet.json'), 'utf8');
  const name = basename((JSON.parse(config) as { readonly cgroupRoot: string }).cgroupRoot);
  expect(findTraces(name)).toEqual([name, name]);

  child.kill('SIGKILL');

  const findProcesses = async () => (await runProcess('pgrep', ['--full', directory])).stdout;
  const findRest = async () => [findTraces(name), existsSync(directory), await findProcesses()];
  await expect.poll(findRest, { timeout: 60_000 }).toEqual([[], false, '']);
}, 300_000);

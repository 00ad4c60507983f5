import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, expect, test } from 'vitest';

import { copyRepository, ROOT } from '../../support/copy-repository.ts';

/** It runs until Ctrl-C. This is its output when it is ready. */
const SERVER = 'npm run control-plane';
const READY = /export KUBECONFIG=(?<kubeconfig>\S+) PATH=(?<bin>[^:]+):/;
/** It mostly waits and depends on no other command, so the others run meanwhile. */
const DEMO = 'npm run demo';
/** A comment after a command that must fail with this text. */
const DENIED = /\s+# (?:denied|exit code 1): (?<code>.+)$/;

const README = readFileSync(join(ROOT, 'README.md'), 'utf8');
/** The denial of the page, and the command that prints it. The page leaves out the beginning of the link. */
const { groups: shown = {} } = /^\$ (?<command>kubectl delete .*)\n(?<text>Error [^`…]*?)\s*…/m.exec(README) ?? {};

const copy = copyRepository();
/** All terminals of the reader share one environment, without that of this test. */
const own = Object.entries(process.env).filter(([name]) => !/^(?:VITEST|MCG_|KUBECONFIG)/.test(name));
const env: NodeJS.ProcessEnv = { ...Object.fromEntries(own), NO_COLOR: '1' };
const children: ChildProcess[] = [];

afterAll(() => {
  for (const child of children) if (child.exitCode === null) signal(child, 'SIGKILL');
  rmSync(copy, { recursive: true, force: true });
});

/** The lines of the `sh` blocks. The copy has packages already, and .ci/run has a step for the tests. */
function findCommands(): readonly string[] {
  const blocks = [...README.replaceAll('npm ci && ', '').matchAll(/^```sh\n([\s\S]*?)^```$/gm)];
  const lines = blocks.flatMap(([, block = '']) => block.split('\n'));
  return lines.filter((line) => /^[^#]/.test(line) && line !== 'npm test');
}

/** Starts a command in a process group of its own, so that signals reach npm and its children. */
function start(command: string) {
  const child = spawn('bash', ['-c', `exec 2>&1; ${command}`], { cwd: copy, env, detached: true });
  children.push(child);
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return { child, closed: once(child, 'close'), read: () => output };
}

function signal({ pid }: ChildProcess, name: NodeJS.Signals): void {
  if (pid !== undefined) process.kill(-pid, name);
}

/** Runs a command to its end, which the page says, and returns its output. */
async function run(line: string): Promise<string> {
  const { closed, read } = start(line.replace(/\s+#.*$/, ''));
  const [exitCode] = (await closed) as [number | null];
  const code = DENIED.exec(line)?.groups?.['code'];
  expect([line, read(), exitCode !== 0]).toEqual([line, expect.stringContaining(code ?? ''), code !== undefined]);
  return read();
}

test('the commands of README.md work in their order, and print the denial that the page shows', async () => {
  const commands = findCommands();
  const demo = run(DEMO);
  const server = start(SERVER);
  expect(commands).toEqual(expect.arrayContaining([DEMO, SERVER]));
  await expect.poll(server.read).toMatch(READY);
  const { kubeconfig, bin } = READY.exec(server.read())?.groups ?? {};
  Object.assign(env, { KUBECONFIG: kubeconfig, PATH: `${bin}:${env['PATH']}` });

  const outputs: string[] = [];
  for (const line of commands.slice(commands.indexOf(SERVER) + 1)) {
    const output = await run(line);
    if (line.startsWith(shown['command'] ?? ' ')) outputs.push(output);
  }

  const [printed, text] = [outputs.join(' '), shown['text'] ?? ' '].map((all) => all.replaceAll(/\s+/g, ' '));
  expect(printed).toContain(text);
  await demo;
  signal(server.child, 'SIGINT');
  const [exitCode, by] = (await server.closed) as [number | null, NodeJS.Signals | null];
  // npm ends by the signal itself when its script ends with 0. A shell shows 130 for both.
  expect([0, 130, 'SIGINT']).toContain(by ?? exitCode);
});

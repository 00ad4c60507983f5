import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { copyRepository, ROOT } from '../../support/copy-repository.ts';
import { runProcess } from '../support/process.ts';

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
let killServer = (_signal: NodeJS.Signals): unknown => undefined;

afterAll(() => {
  killServer('SIGKILL');
  rmSync(copy, { recursive: true, force: true });
});

/** The lines of the `sh` blocks. The copy has packages already, and .ci/run has a step for the tests. */
function findCommands(): readonly string[] {
  const blocks = [...README.replaceAll('npm ci && ', '').matchAll(/^```sh\n([\s\S]*?)^```$/gm)];
  const lines = blocks.flatMap(([, block = '']) => block.split('\n'));
  return lines.filter((line) => /^[^#]/.test(line) && line !== 'npm test');
}

/** Starts the server in a process group of its own, so that signals reach npm and its children. */
function startServer() {
  const child = spawn('bash', ['-c', `exec 2>&1; ${SERVER}`], { cwd: copy, env, detached: true });
  killServer = (signal) => child.pid !== undefined && child.exitCode === null && process.kill(-child.pid, signal);
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return { closed: once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>, read: () => output };
}

/** Runs a command to its end, which the page says, and returns its output. */
async function run(line: string): Promise<string> {
  const script = `exec 2>&1; ${line.replace(/\s+#.*$/, '')}`;
  const { exitCode, stdout } = await runProcess('bash', ['-c', script], { cwd: copy, env });
  const code = DENIED.exec(line)?.groups?.['code'];
  expect([line, stdout, exitCode !== 0]).toEqual([line, expect.stringContaining(code ?? ''), code !== undefined]);
  return stdout;
}

test('the commands of README.md work in their order, and print the denial that the page shows', async () => {
  const commands = findCommands();
  const demo = run(DEMO);
  const server = startServer();
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
  killServer('SIGINT');
  const [exitCode, by] = await server.closed;
  // npm ends by the signal itself when its script ends with 0. A shell shows 130 for both.
  expect([0, 130, 'SIGINT']).toContain(by ?? exitCode);
});

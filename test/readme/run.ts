/**
 * Runs the commands of README.md in a copy of the repository: in their order, and the demo beside them. Compares the
 * denial that the page shows with the one that its command prints.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../e2e/control-plane/until.ts';
import { copyRepository, ROOT } from '../support/copy-repository.ts';

/** The first build of a control plane takes up to ten minutes. */
const COMMAND_TIMEOUT_MS = 20 * 60_000;
/** Commands that are steps of their own in .ci/run. */
const STEPS_OF_CI = new Set(['npm test']);
/** Commands that run until Ctrl-C, and their output when they are ready. */
const SERVERS = new Map([['npm run control-plane', /export KUBECONFIG=(?<kubeconfig>\S+) PATH=(?<bin>[^:]+):/]]);
/** It mostly waits and depends on no other command, so the others run meanwhile. */
const DEMO = 'npm run demo';
/** A comment after a command that must fail with this text. */
const DENIED = /\s+# (?:denied|exit code 1): (?<code>.+)$/;

const README = readFileSync(join(ROOT, 'README.md'), 'utf8');
/** The denial of the page, and the command that prints it. The page leaves out the beginning of the link. */
const { groups: shownDenial } = /^\$ (?<command>kubectl delete .*)\n(?<text>Error [^`…]*?)\s*…/m.exec(README) ?? {};

const copy = copyRepository();
/** All terminals of the reader share one environment. */
const env: NodeJS.ProcessEnv = { ...process.env, NO_COLOR: '1' };
const servers: { readonly command: string; readonly child: ChildProcess }[] = [];
const failures: string[] = [];
let isShownDenialPrinted = false;

/** The lines of the `sh` blocks. The copy has packages already. */
function findCommands(): readonly string[] {
  const blocks = [...README.replaceAll('npm ci && ', '').matchAll(/^```sh\n([\s\S]*?)^```$/gm)];
  const lines = blocks.flatMap(([, block = '']) => block.split('\n'));
  return lines.filter((line) => /^[^#]/.test(line) && !STEPS_OF_CI.has(line));
}

/** @throws Error if the command does not do what the page says */
async function run(line: string): Promise<void> {
  const command = line.replace(/\s+#.*$/, '');
  // In a process group of its own, so that signals reach npm and its children.
  const child = spawn('bash', ['-c', `exec 2>&1; ${command}`], { cwd: copy, env, detached: true });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const readyPattern = SERVERS.get(command);
  if (readyPattern === undefined) {
    const timer = setTimeout(() => interrupt(child, 'SIGKILL'), COMMAND_TIMEOUT_MS);
    const [exitCode] = (await once(child, 'close')) as [number | null];
    clearTimeout(timer);
    console.log(`\n$ ${line}\n${output}`);
    const deniedCode = DENIED.exec(line)?.groups?.['code'];
    const isDenied = exitCode !== 0 && output.includes(deniedCode ?? '');
    if (isDenied !== (deniedCode !== undefined)) throw new Error(`ended with ${exitCode}`);
    if (command === shownDenial?.['command'] && isDenied) checkShownDenial(output);
    return;
  }
  servers.push({ command, child });
  const findReady = async () => {
    if (child.exitCode !== null) throw new Error(`ended before it was ready: ${output}`);
    return readyPattern.exec(output) ?? undefined;
  };
  const { groups = {} } = await until(`${command} to be ready`, findReady, { timeoutMs: COMMAND_TIMEOUT_MS });
  console.log(`\n$ ${line}\n${output}`);
  env['KUBECONFIG'] = groups['kubeconfig'] ?? env['KUBECONFIG'];
  if (groups['bin'] !== undefined) env['PATH'] = `${groups['bin']}:${env['PATH'] ?? ''}`;
}

/** @throws Error if the last attempt failed */
async function runRepeatedly(line: string, attempts: number): Promise<void> {
  await run(line).catch(async (error: unknown) => {
    if (attempts === 1) throw error;
    await sleep(1_000);
    await runRepeatedly(line, attempts - 1);
  });
}

/** @throws Error if the page shows another denial. Line breaks may differ. */
function checkShownDenial(output: string): void {
  const [printed, text = ''] = [output, shownDenial?.['text']].map((value) => value?.replaceAll(/\s+/g, ' '));
  if (text === '' || !printed?.includes(text)) throw new Error(`the page shows another denial: ${text}`);
  isShownDenialPrinted = true;
}

/** @throws Error if a server ended before, or does not end */
async function interruptServers(): Promise<void> {
  for (const { command, child } of servers.toReversed()) {
    if (child.exitCode !== null) throw new Error(`${command} ended with ${child.exitCode} before Ctrl-C`);
    const ended = once(child, 'exit');
    interrupt(child, 'SIGINT');
    const [code, signal] = (await ended) as [number | null, NodeJS.Signals | null];
    // npm ends by the signal itself when its script ends with 0. A shell shows 130 for both.
    if (code !== 0 && code !== 130 && signal !== 'SIGINT') throw new Error(`${command} did not end by Ctrl-C`);
  }
}

function interrupt({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid !== undefined) process.kill(-pid, signal);
}

async function check(title: string, action: () => Promise<void>): Promise<void> {
  await action().catch((error: unknown) => failures.push(`${title}: ${String(error)}`));
}

const commands = findCommands();
const demo = commands.includes(DEMO) ? check(DEMO, () => run(DEMO)) : undefined;
for (const [index, command] of commands.entries()) {
  if (command === DEMO) continue;
  // On a busy machine, what the page waits for takes longer.
  const attempts = commands[index - 1]?.startsWith('sleep ') === true ? 30 : 1;
  await check(command, () => runRepeatedly(command, attempts));
}
await demo;
await check('Ctrl-C', interruptServers);
if (!isShownDenialPrinted) failures.push('no command prints the denial that the page shows');
rmSync(copy, { recursive: true, force: true });
for (const failure of failures) console.error(`\nREADME: ${failure}`);
console.log(`\n${commands.length + 1 - failures.length} passed, ${failures.length} failed`);
process.exitCode = failures.length === 0 && commands.length > 0 ? 0 : 1;

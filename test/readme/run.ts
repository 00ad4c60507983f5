import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { until } from '../e2e/control-plane/until.ts';

/** Runs the commands of README.md, in their order, in a copy of the repository. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The first build of a control plane takes up to ten minutes on two cores. */
const COMMAND_TIMEOUT_MS = 20 * 60_000;
const STOP_TIMEOUT_MS = 30_000;
/** Commands that are steps of their own in .ci/run. */
const STEPS_OF_CI = new Set(['npm test']);
/** Commands that run until Ctrl-C, and the output by which a reader sees that they are ready. */
const SERVERS: ReadonlyMap<string, RegExp> = new Map([
  ['npm run control-plane', /export KUBECONFIG=(?<kubeconfig>\S+)[\s\S]*?(?<bin>\/\S+)\/kubectl/],
  ['npm run guard -- dev', /guarding rendered MachineConfigs/],
]);
/** The page has an ellipsis for the file that the control plane prints. */
const EXPORT_KUBECONFIG = /^export KUBECONFIG=/;
/** A comment after a command that must fail with this code in its output. */
const DENIED = /\s+# denied: (?<code>MCG_\w+)$/;

/** The lines of the `sh` blocks. */
function findCommands(readme: string): readonly string[] {
  const blocks = [...readme.matchAll(/^```sh\n(?<block>[\s\S]*?)^```$/gm)];
  const lines = blocks.flatMap(({ groups }) => (groups?.['block'] ?? '').split('\n'));
  return lines.filter((line) => line !== '' && !line.startsWith('#'));
}

/** Copies the files that are in the repository, and nothing that was built. */
function copyRepository(): string {
  const copy = mkdtempSync(join(tmpdir(), 'mcg-readme-'));
  const list = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
  });
  for (const file of list.toString().split('\0').filter(Boolean)) cpSync(join(ROOT, file), join(copy, file));
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

/** The terminals of a reader. They share one environment. */
class Terminals {
  readonly #directory: string;
  readonly #env: NodeJS.ProcessEnv = { ...process.env, NO_COLOR: '1' };
  readonly #servers: { readonly command: string; readonly child: ChildProcess }[] = [];

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** @throws Error if the command does not do what the page says */
  async run(line: string): Promise<void> {
    const deniedCode = DENIED.exec(line)?.groups?.['code'];
    const command = line.replace(/\s+#.*$/, '');
    const readyPattern = SERVERS.get(command);
    if (EXPORT_KUBECONFIG.test(command)) {
      if (this.#env['KUBECONFIG'] === undefined)
        throw new Error('no control plane has printed its KUBECONFIG');
    } else if (readyPattern !== undefined) {
      await this.#startServer(command, readyPattern);
    } else {
      await this.#runToEnd(command, deniedCode);
    }
  }

  /**
   * Sends Ctrl-C to the servers, the last one first.
   *
   * @throws Error if one ended before, or does not end
   */
  async interruptServers(): Promise<void> {
    for (const { command, child } of this.#servers.toReversed()) {
      if (child.exitCode !== null) throw new Error(`${command} ended with ${child.exitCode} before Ctrl-C`);
      const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
      signalGroup(child, 'SIGINT');
      const timer = setTimeout(() => signalGroup(child, 'SIGKILL'), STOP_TIMEOUT_MS);
      const [code, signal] = await exited;
      clearTimeout(timer);
      // npm ends by the signal itself when its script ends with 0. A shell shows 130 for both.
      if (code !== 0 && code !== 130 && signal !== 'SIGINT')
        throw new Error(`${command} did not end by Ctrl-C`);
    }
  }

  async #startServer(command: string, readyPattern: RegExp): Promise<void> {
    const { child, readOutput } = this.#spawn(command);
    this.#servers.push({ command, child });
    const findReady = async () => {
      if (child.exitCode !== null) throw new Error(`ended with ${child.exitCode} before it was ready`);
      return readyPattern.exec(readOutput()) ?? undefined;
    };
    const { groups } = await until(`${command} to be ready`, findReady, { timeoutMs: COMMAND_TIMEOUT_MS });
    const { kubeconfig, bin } = groups ?? {};
    if (kubeconfig !== undefined) this.#env['KUBECONFIG'] = kubeconfig;
    if (bin !== undefined) this.#env['PATH'] = `${bin}:${this.#env['PATH'] ?? ''}`;
  }

  async #runToEnd(command: string, deniedCode: string | undefined): Promise<void> {
    const { child, readOutput } = this.#spawn(command);
    const timer = setTimeout(() => signalGroup(child, 'SIGKILL'), COMMAND_TIMEOUT_MS);
    const [code] = (await once(child, 'close')) as [number | null];
    clearTimeout(timer);
    if (deniedCode === undefined && code !== 0) throw new Error(`ended with ${code}`);
    if (deniedCode !== undefined && (code === 0 || !readOutput().includes(deniedCode))) {
      throw new Error(`should be denied with ${deniedCode}, but ended with ${code}`);
    }
  }

  #spawn(command: string): { readonly child: ChildProcess; readonly readOutput: () => string } {
    // In a process group of its own, so that signals reach npm and its children.
    const child = spawn('bash', ['-c', command], { cwd: this.#directory, env: this.#env, detached: true });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString();
        process.stdout.write(chunk);
      });
    }
    return { child, readOutput: () => output };
  }
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid !== undefined) process.kill(-pid, signal);
}

async function main(): Promise<boolean> {
  const all = findCommands(readFileSync(join(ROOT, 'README.md'), 'utf8'));
  // The copy has packages already.
  const commands = all.map((line) => line.replace('npm ci && ', '')).filter((line) => !STEPS_OF_CI.has(line));
  const copy = copyRepository();
  const terminals = new Terminals(copy);
  const failures: string[] = [];
  const check = async (title: string, action: () => Promise<void>) => {
    console.log(`\n$ ${title}`);
    try {
      await action();
    } catch (error) {
      failures.push(`${title}: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  for (const command of commands) await check(command, () => terminals.run(command));
  await check('Ctrl-C', () => terminals.interruptServers());
  rmSync(copy, { recursive: true, force: true });
  for (const failure of failures) console.error(`\nREADME: ${failure}`);
  console.log(`\n${commands.length + 1 - failures.length} passed, ${failures.length} failed`);
  return failures.length === 0 && commands.length > 0;
}

process.exitCode = (await main()) ? 0 : 1;

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** A build of the control plane from nothing takes up to ten minutes on two cores. */
const COMMAND_MS = 20 * 60_000;
const STOP_MS = 30_000;

/** Commands that stay until Ctrl-C, and the line by which a person sees that they are up. */
const STAYING: ReadonlyMap<string, RegExp> = new Map([
  ['npm run control-plane', /export KUBECONFIG=(?<kubeconfig>\S+)[\s\S]*?(?<bin>\/\S+)\/kubectl/],
  ['npm run guard -- dev', /guarding rendered MachineConfigs/],
]);
/** The line to paste stands in the README with an ellipsis; its value comes from the control plane's output. */
const PASTED = /^export KUBECONFIG=/;
/** Behind a command of the README: it is meant to be refused, with this in its output. */
const REFUSED = /\s+# refused: (?<code>MCG_\w+)$/;

interface Staying {
  readonly command: string;
  readonly child: ChildProcess;
}

/** Everything that the README tells a user to type, in its order. */
function commandsOf(readme: string): string[] {
  return [...readme.matchAll(/^```sh\n(?<block>[\s\S]*?)^```$/gm)].flatMap(({ groups }) =>
    (groups?.['block'] ?? '').split('\n').filter((line) => line !== '' && !line.startsWith('#')),
  );
}

/** A copy of what is in the repository, without anything that was installed or built: what a stranger has. */
function freshCopy(): string {
  const copy = mkdtempSync(path.join(tmpdir(), 'mcg-readme-'));
  const list = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: ROOT });
  for (const file of list.toString().split('\0').filter(Boolean)) cpSync(path.join(ROOT, file), path.join(copy, file));
  return copy;
}

class Session {
  readonly #directory: string;
  readonly #env: NodeJS.ProcessEnv = { ...process.env, NO_COLOR: '1' };
  readonly #staying: Staying[] = [];

  constructor(directory: string) {
    this.#directory = directory;
  }

  async run(line: string): Promise<void> {
    const refused = REFUSED.exec(line)?.groups?.['code'];
    const command = line.replace(/\s+#.*$/, '');
    const up = STAYING.get(command);
    if (PASTED.test(command)) {
      if (this.#env['KUBECONFIG'] === undefined) throw new Error('no control plane has printed its KUBECONFIG');
    } else if (up !== undefined) {
      await this.#start(command, up);
    } else {
      await this.#complete(command, refused);
    }
  }

  /** Ctrl-C for everything that stays, the last one first. Throws if one has ended already or does not end by itself. */
  async end(): Promise<void> {
    const stuck: string[] = [];
    for (const { command, child } of this.#staying.toReversed()) {
      if (child.exitCode !== null || child.signalCode !== null) {
        stuck.push(command);
        continue;
      }
      const exited = new Promise<boolean>((resolve) => {
        // npm ends by the signal itself even where what it runs has ended with 0; a shell shows 130 for both.
        child.once('exit', (code, signal) => {
          resolve(code === 0 || code === 130 || signal === 'SIGINT');
        });
      });
      const kill = setTimeout(() => {
        this.#signal(child, 'SIGKILL');
      }, STOP_MS);
      this.#signal(child, 'SIGINT');
      if (!(await exited)) stuck.push(command);
      clearTimeout(kill);
    }
    if (stuck.length > 0) throw new Error(`did not end by Ctrl-C: ${stuck.join(', ')}`);
  }

  async #start(command: string, up: RegExp): Promise<void> {
    // A group of its own: Ctrl-C reaches npm and what npm has started.
    const child = spawn('bash', ['-c', command], { cwd: this.#directory, env: this.#env, detached: true });
    this.#staying.push({ command, child });
    const match = await new Promise<RegExpExecArray>((resolve, reject) => {
      let output = '';
      const timer = setTimeout(() => {
        reject(new Error(`${command}: not up in time:\n${output}`));
      }, COMMAND_MS);
      const onData = (chunk: Buffer): void => {
        output += chunk.toString();
        process.stdout.write(chunk);
        const found = up.exec(output);
        if (found === null) return;
        clearTimeout(timer);
        resolve(found);
      };
      child.stdout.on('data', onData);
      child.stderr.on('data', onData);
      child.once('exit', (code) => {
        clearTimeout(timer);
        reject(new Error(`${command}: ended with ${code} before it was up`));
      });
    });
    const { kubeconfig, bin } = match.groups ?? {};
    if (kubeconfig !== undefined) this.#env['KUBECONFIG'] = kubeconfig;
    if (bin !== undefined) this.#env['PATH'] = `${bin}:${this.#env['PATH'] ?? ''}`;
  }

  async #complete(command: string, refused: string | undefined): Promise<void> {
    const child = spawn('bash', ['-c', command], { cwd: this.#directory, env: this.#env });
    let output = '';
    const onData = (chunk: Buffer): void => {
      output += chunk.toString();
      process.stdout.write(chunk);
    };
    child.stdout.on('data', onData);
    child.stderr.on('data', onData);
    const timer = setTimeout(() => child.kill('SIGKILL'), COMMAND_MS);
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
    clearTimeout(timer);
    if (refused === undefined && code !== 0) throw new Error(`ended with ${code}`);
    if (refused !== undefined && (code === 0 || !output.includes(refused))) {
      throw new Error(`was to be refused with ${refused} and ended with ${code}`);
    }
  }

  #signal({ pid }: ChildProcess, signal: NodeJS.Signals): void {
    try {
      if (pid !== undefined) process.kill(-pid, signal);
    } catch {
      // It is gone already.
    }
  }
}

async function main(): Promise<boolean> {
  const commands = commandsOf(readFileSync(path.join(ROOT, 'README.md'), 'utf8'));
  // Long commands that CI has run as steps of their own, word for word.
  const done = new Set((process.env['MCG_README_DONE'] ?? '').split('\n').filter(Boolean));
  const copy = freshCopy();
  const session = new Session(copy);
  let passed = 0;
  const failures: string[] = [];
  const attempt = async (what: string, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
      passed += 1;
    } catch (error) {
      failures.push(`${what}: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  for (const command of commands) {
    if (done.has(command)) {
      console.log(`\n$ ${command}\n(has been run as a step of its own)`);
      continue;
    }
    console.log(`\n$ ${command}`);
    await attempt(command, async () => {
      await session.run(command);
    });
  }
  await attempt('Ctrl-C', async () => {
    await session.end();
  });
  rmSync(copy, { recursive: true, force: true });
  for (const failure of failures) console.error(`\nREADME: ${failure}`);
  console.log(`\n${passed} passed, ${failures.length} failed`);
  return failures.length === 0 && commands.length > 0;
}

process.exitCode = (await main()) ? 0 : 1;

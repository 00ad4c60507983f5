import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { ControlPlane } from '../../control-plane/control-plane.ts';
import { until } from '../../control-plane/until.ts';
import { openShell } from '../../support/shell.ts';
import { DISK_ENVIRONMENT, enterDisk } from './machine-programs.ts';

/** What this reads of the JSON of `check`. */
interface CheckOutput {
  readonly ok: boolean;
  readonly repairs: readonly Advice[];
}

/** What this reads of the JSON of `restore`. */
interface RestoreOutput {
  readonly configs: readonly { readonly outcome: string }[];
  readonly advice: readonly Advice[];
}

interface Advice {
  readonly text: string;
  readonly command: string | null;
}

export interface Follower {
  /**
   * Does what `check` advises first, until it is fine.
   * @param role of the nodes to check
   * @param doByHand follows an advice without a command
   * @returns the commands as they were printed, and {@link BY_HAND} for an advice without a command
   * @throws Error if an advice is repeated although it was followed, or after too many commands
   */
  follow(role: string, doByHand: (advice: string) => Promise<unknown>): Promise<readonly string[]>;
}

export const BY_HAND = 'by hand';
const MAX_COMMANDS = 4;

/**
 * A person who knows nothing but the output of `check`, in a shell with `machineconfig-guard`, `oc`, and `ssh` to the
 * machines of the cluster.
 */
export async function openFollower(controlPlane: ControlPlane): Promise<Follower> {
  const shell = await openShell(controlPlane);
  const programs = await writePrograms(controlPlane);
  const run = (line: string) => shell.run(`PATH=${programs}:$PATH; ${line}`);

  async function check(role: string): Promise<CheckOutput> {
    const { stdout } = await run(`machineconfig-guard check --role ${role} --output json`);
    return JSON.parse(stdout) as CheckOutput;
  }

  /** Waits until `check` has another advice than the one that was just followed. Undefined if it is fine. */
  async function findAdvice(role: string, followed?: Advice): Promise<Advice | undefined> {
    let last: CheckOutput | undefined;
    const what = () => `another advice than ${JSON.stringify(followed)}; check says ${JSON.stringify(last)}`;
    await until(what, async () => {
      last = await check(role);
      const [first] = last.repairs;
      return last.ok || (first !== undefined && !isDeepStrictEqual(first, followed));
    });
    return last?.ok === true ? undefined : last?.repairs[0];
  }

  /** Runs a command, and returns the command that it advises itself. */
  async function runCommand(command: string): Promise<string | undefined> {
    const isRestore = command.includes('machineconfig-guard restore ');
    const { exitCode, stdout, stderr } = await run(isRestore ? `${command} --output json` : command);
    if (exitCode !== 0) throw new Error(`${command} ended with ${exitCode}: ${stdout}${stderr}`);
    if (!isRestore) return undefined;
    const { configs, advice } = JSON.parse(stdout) as RestoreOutput;
    // "Run the command again with --confirm."
    if (configs.some(({ outcome }) => outcome === 'planned')) return `${command} --confirm`;
    return advice[0]?.command ?? undefined;
  }

  return {
    follow: async (role, doByHand) => {
      const followed: string[] = [];
      let advice = await findAdvice(role);
      while (advice !== undefined) {
        if (followed.length === MAX_COMMANDS) throw new Error(`more commands than ${followed.join('\n')}`);
        const { text, command } = advice;
        if (command !== null && followed.includes(command)) throw new Error(`${command} repeats itself`);
        followed.push(command ?? BY_HAND);
        if (command === null) await doByHand(text);
        const next = command === null ? undefined : await runCommand(command);
        advice = next === undefined ? await findAdvice(role, advice) : { text: '', command: next };
      }
      return followed;
    },
  };
}

/** Writes `oc`, whose `debug` runs a program on the disk of a machine, and `ssh`. Returns their folder. */
async function writePrograms({ directory }: ControlPlane): Promise<string> {
  const folder = await mkdtemp(join(directory, 'follower-'));
  const variables = Object.entries(DISK_ENVIRONMENT).map(([name, value]) => `${name}=${value}`);
  const [command, args] = enterDisk(`${join(directory, 'machines')}/$node`, []);
  const enter = ['exec', 'env', '-i', ...variables, command, ...args, '"$@"'].join(' ');
  const scripts = {
    // oc debug node/NAME -- chroot /host PROGRAM
    oc: `if [[ " $* " == *" debug node/"* ]]; then
  for word; do [[ $word != node/* ]] || node=\${word#node/}; done
  until [ "$1" = chroot ]; do shift; done
  shift 2
  ${enter}
fi
[ "$1" != adm ] || shift
exec kubectl "$@"`,
    // ssh core@NAME sudo PROGRAM
    ssh: `node=\${1#core@}\nshift\n[ "$1" != sudo ] || shift\n${enter}`,
  };
  for (const [name, script] of Object.entries(scripts))
    await writeFile(join(folder, name), `#!/bin/bash\n${script}\n`, { mode: 0o755 });
  return folder;
}

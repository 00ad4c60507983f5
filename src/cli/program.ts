import path from 'node:path';
import { Command, CommanderError } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import { createCertsCommand } from './certs/certs.ts';
import { createCheckCommand } from './check/check.ts';
import { createDemoCommand } from './demo/demo.ts';
import { createDevCommand } from './dev/dev.ts';
import { CliError, EXIT_CODE, type ExitCode } from './exit.ts';
import { createRenderCommand } from './render/render.ts';
import { createServeCommand } from './serve/serve.ts';
import { createVerifyCommand } from './verify/verify.ts';
import { createWhoUsesCommand } from './who-uses/who-uses.ts';

/** The name users type, and the first word of every line the program writes to stderr. */
const PROGRAM_NAME = 'machineconfig-guard';
/** Under such a name on the PATH, kubectl and oc run the program as a command of their own. */
const PLUGIN = /^(?<client>kubectl|oc)-mcguard$/;

/** What a user typed to get here, from the path of the program file: `machineconfig-guard`, or `kubectl mcguard`. */
export function programNameOf(file: string): string {
  const client = PLUGIN.exec(path.basename(file))?.groups?.['client'];
  return client === undefined ? PROGRAM_NAME : `${client} mcguard`;
}

/**
 * Every command, in the order of `--help`. A builder runs for each start of the program, so it only declares flags; whatever is
 * slow to load (from the sources @kubernetes/client-node about 450 ms, node-forge about 50 ms) is imported inside the action.
 */
const COMMANDS: readonly (() => Command)[] = [
  createServeCommand,
  createRenderCommand,
  createVerifyCommand,
  createCheckCommand,
  createWhoUsesCommand,
  createDevCommand,
  createDemoCommand,
  createCertsCommand,
];

/** Where a run of the program writes, and the environment it sees. Tests pass their own. */
export interface Terminal {
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Runs one command line of the program. Like {@link runCommand}. */
export async function runProgram(args: readonly string[], terminal: Terminal, name = PROGRAM_NAME): Promise<ExitCode> {
  return await runCommand(program(name), args, terminal);
}

/**
 * Runs one command line (without the node and script paths) of a root command to its end and answers the exit code. Never throws:
 * what a command throws becomes one sentence on stderr.
 */
export async function runCommand(root: Command, args: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const name = root.name();
  try {
    configureOutput(root, terminal, name);
    await root.parseAsync(args, { from: 'user' });
    return EXIT_CODE.fine;
  } catch (error) {
    return reportError(error, terminal, name);
  }
}

/**
 * Writes what went wrong as one line and answers the exit code for it. Also for errors that no command caught; with MCG_DEBUG set
 * the stack and the causes follow.
 */
export function reportError(error: unknown, terminal: Terminal, name = PROGRAM_NAME): ExitCode {
  const debug = isOn(terminal.env.MCG_DEBUG);
  // commander has written its own message (or the help that was asked for) before it throws.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CODE.fine : EXIT_CODE.usage;
  if (error instanceof CliError) {
    if (error.message !== '') terminal.stderr(`${name}: ${error.message}\n`);
    if (debug) terminal.stderr(`${details(error)}\n`);
    return error.exitCode;
  }
  const what = oneLine(error instanceof Error ? error.message || error.name : String(error));
  const hint = debug ? '' : ' (this was not expected; run again with MCG_DEBUG=1 to see where it happened)';
  terminal.stderr(`${name}: ${what}${hint}\n`);
  if (debug) terminal.stderr(`${details(error)}\n`);
  return EXIT_CODE.no;
}

function program(name: string): Command {
  const root = new Command(name)
    .description('Refuses to let a rendered MachineConfig be deleted while something still uses it.')
    .version(packageJson.version)
    .helpCommand(false)
    // What comes after the name of a command is for that command: `certs` and `certs rotate` both have --out and --days.
    .enablePositionalOptions()
    .addHelpText(
      'after',
      `
Exit codes:
  0  fine
  1  the answer is no, or the command failed
  2  wrong usage; nothing was changed
  3  the cluster cannot be reached, or does not permit what is needed

Example:
  machineconfig-guard certs --out certs/`,
    );
  for (const build of COMMANDS) root.addCommand(build());
  return root;
}

/** Sends what commander writes to the terminal, and makes it throw instead of ending the process. */
function configureOutput(root: Command, terminal: Terminal, name: string): void {
  let helping = false;
  root
    .exitOverride()
    .configureOutput({
      writeOut: (text) => {
        terminal.stdout(helping ? calling(text, name) : text);
      },
      writeErr: (text) => {
        terminal.stderr(helping ? calling(text, name) : text);
      },
      outputError: (message, write) => {
        write(`${name}: ${asSentence(message)}\n`);
      },
    })
    .on('beforeAllHelp', () => {
      helping = true;
    })
    .on('afterAllHelp', () => {
      helping = false;
    });
  for (const command of root.commands) inherit(root, command);
}

/** The examples of a help text, as the user has to type them. */
function calling(help: string, name: string): string {
  return help.replaceAll(new RegExp(`^(\\s+)${PROGRAM_NAME}(?= )`, 'gm'), `$1${name}`);
}

/** addCommand(), unlike command(), hands nothing down: without this a subcommand's bad flag would end the process with 1. */
function inherit(parent: Command, command: Command): void {
  command.copyInheritedSettings(parent);
  for (const child of command.commands) inherit(command, child);
}

/** commander says "error: unknown option '--forse'\n(Did you mean --force?)\n"; one line is easier to find in a log. */
function asSentence(message: string): string {
  return oneLine(message.replace(/^error: /, ''));
}

/** Bad values are quoted back to the user, who may have them from elsewhere: no line ends and no terminal escapes. */
function oneLine(text: string): string {
  return text
    .trim()
    .replace(/\s*\n\s*/g, ' ')
    .replace(/\p{Cc}/gu, '\uFFFD');
}

function details(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const own = error.stack ?? error.message;
  return error.cause === undefined ? own : `${own}\ncaused by: ${details(error.cause)}`;
}

function isOn(value: string | undefined): boolean {
  return value !== undefined && value !== '' && value !== '0' && value !== 'false';
}

import path from 'node:path';
import { inspect } from 'node:util';
import { Command, CommanderError, Help } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import { joinWithAnd, toPrintableLine } from '../common/printable-text.ts';
import { removeUnsafe } from '../client/output/output.ts';
import { formatNext, getErrorWidth, wrapText } from '../client/output/text-format.ts';
import { CommandFormatter, type RepeatedFlags } from '../client/output/advice.ts';
import { createCertsCommand } from './certs/certs.ts';
import { createCheckCommand } from './check/check.ts';
import { addClusterFlags, inheritFlags } from '../client/cluster-options.ts';
import { CliError, EXIT_CODE, type ExitCode, ReportedFailure } from '../client/exit.ts';
import { FileError } from '../files/file-error.ts';
import { createExplainCommand } from './explain/explain.ts';
import { createRenderCommand } from './render/render.ts';
import { createRestoreCommand } from './restore/restore.ts';
import { createServeCommand } from './serve/serve.ts';
import { createStatusCommand } from './protection/status.ts';
import { createUninstallCommand } from './uninstall/uninstall.ts';
import { createVerifyCommand } from './protection/verify.ts';
import { createWhoUsesCommand } from './who-uses/who-uses.ts';

const PROGRAM_NAME = 'machineconfig-guard';
const EXAMPLE_COMMAND = /^( +)machineconfig-guard(?= )/gm;
const PLUGIN_FILE = /^(?<client>kubectl|oc)-mcguard$/;
/** kubectl accepts `-o=json` and `--wait=true`, and commander only `-o json`, `-ojson` and `--wait`. */
const FLAG_WITH_EQUALS = /^(-[a-z])=|^(--[-a-z]+)=true$/;
/** For `install` commander suggests `uninstall`, for `--no-wait` `--wait`, and for `--node` `--role`. */
const MISLEADING_SUGGESTION = /(?<=^unknown (?:command '|option '--)([-\w]{3}).*)\n\(Did you mean (?!(?:--)?\1).*/i;
/** Errors of commander that neither suggest a command nor say what is valid. */
const BARE_ERROR = /^((?:unknown|missing|too many|option .* missing).*?)\.?(?=\n$)/;
/** What people type who know kubectl or another program, and the flag or the command that they look for. */
const HINTS: readonly (readonly [error: RegExp, hint: string])[] = [
  [/^unknown option '(?:--dry-run|--yes|-y'|--force)/, 'restore and uninstall write only with --confirm'],
  [/^unknown option '--(?:server|token|user|cluster|insecure|certificate|client-)/, 'use a kubeconfig'],
  [/^unknown option '--node/, 'use check --selector kubernetes.io/hostname=NAME or restore --from node/NAME'],
  [/^unknown option '(?:-n'|--namespace)/, 'the namespace of the guard is fixed'],
  [/^unknown command '(?:install|upgrade|update|deploy|repair)/, 'use render'],
  [/^unknown command '(?:list|ls|get|prune)'/, 'use who-uses'],
  [/^unknown command '(?:doctor|diagnose|manifests|bootstrap)/, 'use check'],
  [/^too many arguments for 'status'/, 'use --contexts'],
];

/** Such as `kubectl mcguard`, from the file that was started. */
export function getProgramName(file: string): string {
  const { client } = PLUGIN_FILE.exec(path.basename(file))?.groups ?? {};
  return client === undefined ? PROGRAM_NAME : `${client} mcguard`;
}

export interface ProcessIo {
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
}

/** Never rejects. */
export async function runProgram(args: readonly string[], io: ProcessIo, name = PROGRAM_NAME): Promise<ExitCode> {
  const root = createProgram(name);
  let flags: RepeatedFlags = {};
  try {
    configureOutput(root, io, name);
    root.hook('preAction', (_root, command) => {
      flags = command.opts();
    });
    await root.parseAsync(
      args.map((arg) => arg.replace(FLAG_WITH_EQUALS, '$1$2')),
      { from: 'user' },
    );
    return EXIT_CODE.success;
  } catch (error) {
    return reportError(error, io, new CommandFormatter(name, flags));
  }
}

/**
 * One line for a script. For a terminal, and with two ways out, each command has its own line, because a person copies
 * it.
 */
function formatError(error: CliError, commands: CommandFormatter): string {
  const terminalWidth = getErrorWidth();
  if (terminalWidth === undefined && error.advice.length < 2) return `${commands.program}: ${error.describe(commands)}`;
  const width = terminalWidth ?? Number.POSITIVE_INFINITY;
  const next = formatNext({ width, hasColors: false, commands }, ...error.advice);
  return [...wrapText(`${commands.program}: ${error.message}`, width), ...next].join('\n');
}

/** Prints the error, unless the report has explained it. With MCG_DEBUG, the stack and the causes follow. */
export function reportError(
  thrown: unknown,
  io: ProcessIo,
  commands = new CommandFormatter(PROGRAM_NAME, {}),
): ExitCode {
  const isOfFile = thrown instanceof FileError;
  const error = isOfFile ? new CliError(thrown.message, EXIT_CODE.usage, { cause: thrown }) : thrown;
  const isDebug = !['', '0', 'false'].includes(process.env['MCG_DEBUG'] ?? '');
  const print = (text: string): void => io.stderr(`${removeUnsafe(text)}\n`);
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CODE.success : EXIT_CODE.usage;
  if (error instanceof ReportedFailure) return error.exitCode;
  if (error instanceof CliError) {
    print(formatError(error, commands));
  } else {
    const message = error instanceof Error ? error.message || error.name : String(error);
    const hint = ' (unexpected error; run again with MCG_DEBUG=1 for the stack trace)';
    print(`${commands.program}: ${toPrintableLine(message)}${isDebug ? '' : hint}`);
  }
  if (isDebug) print(inspect(error));
  return error instanceof CliError ? error.exitCode : EXIT_CODE.failure;
}

/** Actions import slow packages only when they run (@kubernetes/client-node: 450 ms; node-forge: 50 ms, 12 MB). */
export function createProgram(name: string): Command {
  return (
    addClusterFlags(new Command(name).version(packageJson.version))
      .description('Deny the deletion of rendered MachineConfigs that are in use.')
      .hook('preAction', (_root, command) => {
        rejectUnknownSubcommand(command);
        inheritFlags(command);
      })
      // A flag after the command belongs to the command.
      .enablePositionalOptions()
      .addHelpText(
        'after',
        `
kubectl's --server, --token, --user and --cluster are missing, because printed
commands repeat the flags, and a token must not be printed: use a kubeconfig.

Exit codes:
  0    success
  1    the command failed, or its check did not pass
  2    wrong usage or an unusable file; nothing was changed
  3    no usable kubeconfig, or the cluster is unreachable or denies access
  130  interrupted with Ctrl-C

Examples:
  machineconfig-guard help verify
  machineconfig-guard --context lab check`,
      )
      // What a person needs at night comes first.
      .addCommand(createCheckCommand())
      .addCommand(createRestoreCommand())
      .addCommand(createExplainCommand())
      .addCommand(createStatusCommand())
      .addCommand(createVerifyCommand())
      .addCommand(createWhoUsesCommand())
      .addCommand(createRenderCommand())
      .addCommand(createUninstallCommand())
      .addCommand(createServeCommand())
      .addCommand(createCertsCommand())
      .helpCommand(false)
      .addCommand(createHelpCommand())
      .addCommand(createVersionCommand(), { hidden: true })
  );
}

/** That of commander knows no subcommands. */
function createHelpCommand(): Command {
  return new Command('help')
    .description('Print the help of a command.')
    .argument('[command...]')
    .action((names: readonly string[], _flags, { parent }: Command) => {
      let command = parent;
      for (const name of names) {
        command = command?.commands.find((each) => each.name() === name) ?? null;
        if (command === null) throw new CliError(`unknown command "${names.join(' ')}"; see --help`, EXIT_CODE.usage);
      }
      command?.outputHelp();
    });
}

/** As other programs for clusters have it, beside the flag. */
function createVersionCommand(): Command {
  return new Command('version').action((_flags, { parent }: Command) => {
    parent?.configureOutput().writeOut?.(`${packageJson.version}\n`);
  });
}

/** Commander would say that there are too many arguments. */
function rejectUnknownSubcommand(command: Command): void {
  const [given] = command.args;
  if (command.commands.length === 0 || given === undefined) return;
  const known = joinWithAnd(command.commands.map((subcommand) => subcommand.name()));
  const flags = '--role ROLE and --selector kubernetes.io/hostname=NAME';
  const message = `${command.name()} has no command "${given}"; it has ${known}, and flags such as ${flags}`;
  throw new CliError(message, EXIT_CODE.usage);
}

/** Makes commander write to `io`, and throw instead of ending the process. */
function configureOutput(root: Command, io: ProcessIo, name: string): void {
  // Help and reports contain example commands.
  const replaceName = (text: string): string => text.replaceAll(EXAMPLE_COMMAND, `$1${name}`);
  root
    .configureHelp({ visibleOptions: sortOptions, minWidthToWrap: 20 })
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout(removeUnsafe(replaceName(text))),
      writeErr: (text) => io.stderr(removeUnsafe(replaceName(text))),
      outputError: (message, write) => {
        // For example "error: unknown option '--forse'\n(Did you mean --force?)\n".
        const error = message.replace(/^error: (?:command-argument (?=value))?/, '');
        const [, hint] = HINTS.find(([pattern]) => pattern.test(error)) ?? [];
        const advice = hint === undefined ? 'see --help' : `${hint}; see --help`;
        const text = error.replace(MISLEADING_SUGGESTION, '').replace(BARE_ERROR, `$1; ${advice}`);
        const width = getErrorWidth() ?? Number.POSITIVE_INFINITY;
        write(`${wrapText(`${name}: ${toPrintableLine(text)}`, width).join('\n')}\n`);
      },
    });
  // addCommand() copies no settings. Without this copy, an unknown flag of a subcommand exits with 1.
  copySettings(root);
}

function copySettings(parent: Command): void {
  for (const command of parent.commands) {
    command.copyInheritedSettings(parent);
    // For an error of rejectUnknownSubcommand().
    command.allowExcessArguments(command.commands.length > 0);
    copySettings(command);
  }
}

/** Sorts by long names. Commander's `sortOptions` sorts by short names. */
function sortOptions(command: Command) {
  return new Help().visibleOptions(command).toSorted((a, b) => (a.name() < b.name() ? -1 : 1));
}

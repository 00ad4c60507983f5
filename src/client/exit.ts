import { toPrintableLine } from '../common/printable-text.ts';
import type { Advice, CommandFormatter } from './output/advice.ts';

/** Scripts rely on these codes, and README.md lists them. */
export const EXIT_CODE = {
  success: 0,
  failure: 1,
  /** Wrong usage or an unusable file. Nothing was changed. */
  usage: 2,
  /** No usable kubeconfig, or the cluster is unreachable or denies access. */
  clusterAccess: 3,
  /** By Ctrl-C, as a shell reports it. `restore` has it after SIGTERM, too. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT_CODE)[keyof typeof EXIT_CODE];

interface CliErrorOptions extends ErrorOptions {
  readonly advice?: Advice | readonly Advice[] | undefined;
}

/** Ends a command with the given exit code and a message of one line. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: ExitCode;
  /** What to do, and then what to do if that does not help. */
  readonly advice: readonly Advice[];

  constructor(message: string, exitCode: ExitCode, { advice = [], ...options }: CliErrorOptions = {}) {
    super(toPrintableLine(message), options);
    this.exitCode = exitCode;
    this.advice = [advice].flat();
  }

  /** One line. */
  describe(commands: CommandFormatter): string {
    return [this.message, ...this.advice.map((each) => commands.toClause(each))].join('; ');
  }
}

/** Ends a command after its report, which says why. Prints nothing more. */
export class ReportedFailure extends Error {
  override readonly name = 'ReportedFailure';
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode = EXIT_CODE.failure) {
    super(`the report explains exit code ${exitCode}`);
    this.exitCode = exitCode;
  }
}

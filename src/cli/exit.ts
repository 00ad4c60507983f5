/** What the exit code of every command means. Scripts rely on it; README.md lists them. */
export const EXIT_CODE = {
  /** Done, or the answer is yes. */
  fine: 0,
  /** The answer is no, or the command failed for a reason none of the others names. */
  no: 1,
  /** Wrong usage: an unknown flag or command, a bad value, a file that cannot be used. Nothing was changed. */
  usage: 2,
  /** The cluster cannot be reached, or it does not permit what the command needs. */
  cluster: 3,
} as const;

/** One of the four exit codes of {@link EXIT_CODE}. */
export type ExitCode = (typeof EXIT_CODE)[keyof typeof EXIT_CODE];

/**
 * The one way for a command to end with something other than 0. The message is one sentence for a person (what happened, to
 * which object, what to do) and goes to stderr as it is. An empty message prints nothing: for a command that has already given
 * its answer on stdout and only has to say "no" to a script.
 */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

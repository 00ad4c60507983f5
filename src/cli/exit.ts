/** Scripts rely on these codes, and README.md lists them. */
export const EXIT_CODE = {
  /** Success, or the answer is yes. */
  fine: 0,
  /** The answer is no, or the command failed. */
  no: 1,
  /** Wrong usage or an unusable file. Nothing was changed. */
  usage: 2,
  /** No usable kubeconfig, or the cluster is unreachable or denies access. */
  cluster: 3,
} as const;

export type ExitCode = (typeof EXIT_CODE)[keyof typeof EXIT_CODE];

/** Ends a command with this exit code. An empty message prints nothing. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

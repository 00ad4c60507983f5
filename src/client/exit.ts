/** Scripts rely on these codes, and README.md lists them. */
export const EXIT_CODE = {
  success: 0,
  /** The command failed, or its check did not pass. */
  failure: 1,
  /** Wrong usage or an unusable file. Nothing was changed. */
  usage: 2,
  /** No usable kubeconfig, or the cluster is unreachable or denies access. */
  clusterAccess: 3,
} as const;

export type ExitCode = (typeof EXIT_CODE)[keyof typeof EXIT_CODE];

/** Ends a command with the given exit code. An empty message prints nothing. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

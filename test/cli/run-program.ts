import { runProgram as runCommandLine } from '../../src/cli/program.ts';

/** What a command line left behind. */
export interface Outcome {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs one command line in this process. */
export async function runProgram(args: readonly string[], env: Record<string, string> = {}): Promise<Outcome> {
  let stdout = '';
  let stderr = '';
  const exitCode = await runCommandLine(args, {
    stdout: (text) => void (stdout += text),
    stderr: (text) => void (stderr += text),
    env,
  });
  return { exitCode, stdout, stderr };
}

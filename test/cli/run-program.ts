import { expect } from 'vitest';
import { runProgram as runCommandLine } from '../../src/cli/program.ts';

export interface Outcome {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export async function runProgram(args: readonly string[], name?: string): Promise<Outcome> {
  let stdout = '';
  let stderr = '';
  const terminal = { stdout: (text: string) => void (stdout += text), stderr: (text: string) => void (stderr += text) };
  return { exitCode: await runCommandLine(args, terminal, name), stdout, stderr };
}

/** The commands in the help of the program. */
export async function listCommands(): Promise<string[]> {
  const { stdout } = await runProgram(['--help']);
  const [, commands = ''] = /^Commands:\n([^]*?)\n\n/m.exec(stdout) ?? [];
  return [...commands.matchAll(/^ {2}([a-z][-a-z]+)/gm)].map(([, name = '']) => name);
}

/** Matches an outcome with exit code 2, no output and one line on stderr that contains this sentence. */
export function usageError(sentence: string | RegExp = ''): Outcome {
  const isOneLine = (stderr: string): boolean => {
    const hasSentence = typeof sentence === 'string' ? stderr.includes(sentence) : sentence.test(stderr);
    return /^machineconfig-guard: \P{Cc}+\n$/u.test(stderr) && hasSentence;
  };
  return { exitCode: 2, stdout: '', stderr: expect.toSatisfy(isOneLine, String(sentence)) as string };
}

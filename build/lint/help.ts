import process from 'node:process';
import { runProgram } from '../../src/cli/program.ts';

// Prints the help of every command, so that the prose linter can read it.

const run = async (args: readonly string[], print: (text: string) => void) => {
  await runProgram(args, { stdout: print, stderr: print });
};
let completion = '';
await run(['__complete', ''], (text) => void (completion += text));
const commands = [...completion.matchAll(/^(.+)\t/gm)].map(([, name = '']) => name);
for (const command of [[], ...commands.map((name) => [name])]) {
  await run([...command, '--help'], (text) => void process.stdout.write(text));
}

import process from 'node:process';
import { runProgram } from '../../src/cli/program.ts';

/** Prints the help of every command, so that the prose linter can read it. */

const COMMANDS = [
  '',
  'serve',
  'render',
  'verify',
  'restore',
  'check',
  'gather',
  'status',
  'who-uses',
  'explain',
  'dev',
  'certs',
  'completion',
  'version',
  'help',
];

const print = (text: string): void => {
  process.stdout.write(text);
};

for (const command of COMMANDS) {
  const args = command.split(' ').filter((word) => word !== '');
  await runProgram([...args, '--help'], { stdout: print, stderr: print });
}

import process from 'node:process';
import { programNameOf, reportError, runProgram, type Terminal } from './program.ts';

const terminal: Terminal = {
  stdout: (text) => void process.stdout.write(text),
  stderr: (text) => void process.stderr.write(text),
  env: process.env,
};

const name = programNameOf(process.argv[1] ?? '');

// `machineconfig-guard --help | head -1` closes the pipe early. The command continues and keeps its exit code.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

// Unhandled rejections arrive here, too. The state is unknown, so the process ends, but with a sentence and no stack.
process.on('uncaughtException', (error) => {
  process.exit(reportError(error, terminal, name));
});

// No process.exit: it would cut off output that is still in a pipe. No top-level await: the bundle is CommonJS.
void runProgram(process.argv.slice(2), terminal, name).then((exitCode) => {
  process.exitCode = exitCode;
});

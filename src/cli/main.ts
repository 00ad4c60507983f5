import process from 'node:process';
import { programNameOf, reportError, runProgram, type Terminal } from './program.ts';

const terminal: Terminal = {
  stdout: (text) => void process.stdout.write(text),
  stderr: (text) => void process.stderr.write(text),
  env: process.env,
};

const name = programNameOf(process.argv[1] ?? '');

// `machineconfig-guard --help | head -1` closes the pipe early. That is the reader's choice, not an error; the command goes on to
// its own end and its own exit code.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

// Unhandled rejections arrive here too. State is unknown from here on, so the process ends; but as a sentence, not as a stack.
process.on('uncaughtException', (error) => {
  process.exit(reportError(error, terminal, name));
});

// The exit code is set and the event loop left to run dry: process.exit() here would cut off output that is still on its way
// through a pipe. No top-level await: the bundle is CommonJS.
void runProgram(process.argv.slice(2), terminal, name).then((exitCode) => {
  process.exitCode = exitCode;
});

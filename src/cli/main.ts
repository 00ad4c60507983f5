import process from 'node:process';
import { getProgramName, runProgram } from './program.ts';
import { runInProcess } from './run-process.ts';

const name = getProgramName(process.argv[1] ?? '');

runInProcess(name, async (io) => await runProgram(process.argv.slice(2), io, name));

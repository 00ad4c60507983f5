import process from 'node:process';
import { getProgramName, runProgram } from './program.ts';
import { runInProcess } from './run-process.ts';

const [, file = '', ...args] = process.argv;
const name = getProgramName(file);

runInProcess(name, async (io) => await runProgram(args, io, name));

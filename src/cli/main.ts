import process from 'node:process';
import { parseInvocation, runProgram } from './program.ts';
import { runInProcess } from './run-process.ts';

const [, file = '', ...words] = process.argv;
const { name, args } = parseInvocation(file, words);

runInProcess(name, async (io) => await runProgram(args, io, name));

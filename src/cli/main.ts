import process from 'node:process';
import { programNameOf, runProgram } from './program.ts';
import { runProcess } from './run-process.ts';

const name = programNameOf(process.argv[1] ?? '');

runProcess(name, async (terminal) => await runProgram(process.argv.slice(2), terminal, name));

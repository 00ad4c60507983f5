import process from 'node:process';
import { runCommand } from '../cli/program.ts';
import { runInProcess } from '../cli/run-process.ts';
import { createDemoCommand } from './demo-command.ts';

runInProcess('demo', async (io) => await runCommand(createDemoCommand(), process.argv.slice(2), io));

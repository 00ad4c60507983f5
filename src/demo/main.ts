import process from 'node:process';
import { runCommand } from '../cli/program.ts';
import { runProcess } from '../cli/run-process.ts';
import { createDemoCommand } from './demo-command.ts';

runProcess('demo', async (terminal) => await runCommand(createDemoCommand(), process.argv.slice(2), terminal));

import process from 'node:process';
import { createProgram } from '../../src/cli/program.ts';

// Prints the help of every command, so that the prose linter can read it.

const root = createProgram('machineconfig-guard');
for (const command of [root, ...root.commands]) command.outputHelp();
process.exitCode = 0;

import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { terminalPicture } from './terminal-picture.ts';

/** Draws what the demo prints: its second half, in which the guard refuses, as docs/images/demo.svg. */
const OUTPUT = 'docs/images/demo.svg';
const FROM = '2  With the guard';
const PROGRAM = 'dist/machineconfig-guard.cjs';

const { status, stdout, stderr } = spawnSync(process.execPath, [PROGRAM, 'demo'], {
  encoding: 'utf8',
  env: { PATH: process.env['PATH'], FORCE_COLOR: '1' },
});
if (status !== 0) throw new Error(`The demo ended with ${status}: ${stderr}`);
const lines = stdout.split('\n');
const from = lines.findIndex((line) => line.includes(FROM));
const to = lines.findIndex((line) => line.startsWith('Next, in README.md'));
const picture = terminalPicture(`$ npm run demo\n\n${lines.slice(from, to).join('\n').trimEnd()}`);
mkdirSync(path.dirname(OUTPUT), { recursive: true });
writeFileSync(OUTPUT, picture);
console.log(`${OUTPUT}  ${picture.length} bytes`);

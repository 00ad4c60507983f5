import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { demoExcerpt } from './demo-excerpt.ts';
import { terminalPicture } from './terminal-picture.ts';

/** Draws what the demo prints, as docs/images/demo.svg. */
const OUTPUT = 'docs/images/demo.svg';
const DEMO = 'dist/demo.cjs';

const { status, stdout, stderr } = spawnSync(process.execPath, [DEMO, '--speed=1000'], {
  encoding: 'utf8',
  env: { PATH: process.env['PATH'], FORCE_COLOR: '1' },
});
if (status !== 0) throw new Error(`The demo ended with ${status}: ${stderr}`);
const picture = terminalPicture(`$ npm run demo\n\n${demoExcerpt(stdout)}`);
mkdirSync(path.dirname(OUTPUT), { recursive: true });
writeFileSync(OUTPUT, picture);
console.log(`${OUTPUT}  ${picture.length} bytes`);

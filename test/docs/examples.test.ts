import { expect, test, vi } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { demoExcerpt } from '../../build/demo-excerpt.ts';
import { terminalPicture } from '../../build/terminal-picture.ts';
import { MODES } from '../../src/decision/settings.ts';
import { runProgram } from '../cli/run-program.ts';
import { listFiles, readFile, readTableRows } from './pages.ts';

test.each(listFiles('docs').filter((file) => file.endsWith('.yaml')))('%s is YAML with valid modes', (file) => {
  expect(parseAllDocuments(readFile(file)).flatMap(({ errors }) => errors)).toEqual([]);
  const modes = [...readFile(file).matchAll(/ mode: '(\w*)'/g)].map(([, mode]) => mode);
  expect(MODES).toEqual(expect.arrayContaining(modes));
});

test('docs/install.md names flags that render has, and every overlay', async () => {
  const names = readTableRows(readFile('docs/install.md')).map(([cell]) => /^`([a-z-]+)/.exec(cell ?? '')?.[1] ?? '');
  const { stdout } = await runProgram(['render', '--help']);
  const flags = names.filter((name) => name.startsWith('--'));
  expect(flags.length).toBeGreaterThan(5);
  expect(flags.filter((flag) => !stdout.includes(`${flag} `))).toEqual([]);
  const overlays = listFiles('manifests/overlays').flatMap((file) => /overlays\/([^/]+)$/.exec(file)?.[1] ?? []);
  expect(names.filter((name) => /^[a-z]/.test(name)).toSorted()).toEqual(overlays.toSorted());
});

test('docs/images/demo.svg shows what the demo prints (npm run picture)', async () => {
  vi.stubEnv('FORCE_COLOR', '1');
  const { stdout } = await runProgram(['demo', '--speed', '2000']);
  vi.unstubAllEnvs();
  expect(readFile('docs/images/demo.svg')).toBe(terminalPicture(`$ npm run demo\n\n${demoExcerpt(stdout)}`));
});

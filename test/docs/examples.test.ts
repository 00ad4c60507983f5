import { expect, test, vi } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { demoExcerpt } from '../../build/demo-excerpt.ts';
import { terminalPicture } from '../../build/terminal-picture.ts';
import { runCommand } from '../../src/cli/program.ts';
import { MODES } from '../../src/decision/settings.ts';
import { createDemoCommand } from '../../src/demo/demo-command.ts';
import { runProgram } from '../cli/run-program.ts';
import { findAll, listFiles, readFile } from './pages.ts';

test.for(findAll(listFiles('docs').join('\n'), /^(.*\.yaml)$/gm))(
  '%s is YAML with valid modes',
  (file) => {
    expect(parseAllDocuments(readFile(file)).flatMap(({ errors }) => errors)).toEqual([]);
    expect(MODES).toEqual(expect.arrayContaining(findAll(readFile(file), / mode: '(\w*)'/g)));
  },
);

test('docs/install.md names flags that render has, and every overlay', async () => {
  const names = findAll(readFile('docs/install.md'), /^\| `([a-z-]+)/gm);
  const { stdout } = await runProgram(['render', '--help']);
  const flags = names.filter((name) => name.startsWith('--'));
  expect(flags.length).toBeGreaterThan(5);
  expect(flags.filter((flag) => !stdout.includes(`${flag} `))).toEqual([]);
  const overlays = findAll(
    listFiles('manifests/overlays').join('\n'),
    /^manifests\/overlays\/([^/\n]+)$/gm,
  );
  expect(names.filter((name) => !name.startsWith('--')).toSorted()).toEqual(overlays.toSorted());
});

test('docs/images/demo.svg shows what the demo prints (npm run picture)', async () => {
  vi.stubEnv('FORCE_COLOR', '1');
  let stdout = '';
  const terminal = { stdout: (text: string) => void (stdout += text), stderr: () => {}, env: {} };
  await runCommand(createDemoCommand(), ['--speed', '2000'], terminal);
  vi.unstubAllEnvs();
  expect(readFile('docs/images/demo.svg')).toBe(
    terminalPicture(`$ npm run demo\n\n${demoExcerpt(stdout)}`),
  );
});

import { expect, test } from 'vitest';
import { CODE_DESCRIPTIONS, formatHelpNote } from '../../src/decision/verdict.ts';
import { runProgram } from '../cli/run-program.ts';
import { createTemporaryDirectory, writeFiles } from '../cli/temporary-directory.ts';
import { findAll, readFile } from './pages.ts';

test('docs/codes.md explains every code once, in the words of the program', () => {
  const page = readFile('docs/codes.md');
  const codes = findAll(page, /^## (\w+)$/gm);
  const sentences = findAll(page, /^## \w+\n\n(.+)$/gm);
  expect(codes).toHaveLength(Object.keys(CODE_DESCRIPTIONS).length);
  expect(Object.fromEntries(codes.map((code, index) => [code, sentences[index]]))).toEqual(CODE_DESCRIPTIONS);
  expect(formatHelpNote('MCG_IN_USE')).toMatch(
    /^Run machineconfig-guard explain MCG_IN_USE, or see https:.*\/docs\/codes\.md#mcg_in_use$/,
  );
});

test('docs/inspect.md shows what check --manifests prints, and lists the keys of its JSON', async () => {
  const [, section = ''] = /^### Before the install\n(.*?)^### /ms.exec(readFile('docs/inspect.md')) ?? [];
  const directory = createTemporaryDirectory();
  const mirrors = ['idms-release-0', 'idms-operator-0'].map((name) => {
    const type = 'apiVersion: config.openshift.io/v1\nkind: ImageDigestMirrorSet';
    return `---\n${type}\nmetadata:\n  name: ${name}\nspec: {}\n`;
  });
  writeFiles(directory, { 'openshift/idms-oc-mirror.yaml': mirrors.join('') });
  const { stdout } = await runProgram(['check', '--manifests', directory]);
  const [console = ''] = findAll(section, /```console\n([^]*?)```/g);
  const simplify = (text: string) => text.replaceAll(directory, 'cluster').replaceAll(/\s+/g, ' ');
  expect(simplify(console)).toBe(simplify(stdout));
  const report: unknown = JSON.parse((await runProgram(['check', '--manifests', directory, '-o', 'json'])).stdout);
  const [listed = ''] = findAll(section, /^Keys of `--output json`: ([^]*?)\n\n/gm);
  for (const [, key] of JSON.stringify(report).matchAll(/"(\w+)":/g))
    expect(listed).toMatch(new RegExp(`\`${key}[\`[]`));
});

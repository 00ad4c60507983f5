import { beforeAll, expect, test } from 'vitest';
import { EXIT_CODE } from '../../src/client/exit.ts';
import { listCommands, runProgram } from '../cli/run-program.ts';
import { createTemporaryDirectory, writeFiles } from '../cli/temporary-directory.ts';
import { findAll, listFiles, readFile } from './pages.ts';
import { CAUSE_CODES } from '../../src/diagnosis/cause-rules.ts';
import { CODE_DESCRIPTIONS } from '../../src/api/codes.ts';
import { formatHelpNote } from '../../src/review/decide.ts';

const PAGES = ['README.md', ...listFiles('docs').filter((file) => file.endsWith('.md'))];
const CODES = Object.values(EXIT_CODE).map(String);
const COMMAND = /(?:^|`|\| )(?:[$#] )?(?:machineconfig-guard|kubectl mcguard|oc mcguard) (?<line>[^`|\n]+)/gm;
const FLAG = /(?<=[\s[])--[a-z][-a-z]*/g;

/** The help of each command, by its name. The root has the name ''. */
const helps = new Map<string, string>();

beforeAll(async () => {
  const readHelp = async (...args: string[]) => (await runProgram([...args, '--help'])).stdout;
  helps.set('', await readHelp());
  for (const name of await listCommands()) helps.set(name, await readHelp(name));
  const ofCheck = [helps.get('check'), await readHelp('check', 'manifests'), await readHelp('check', 'bootstrap')];
  helps.set('check', ofCheck.join('\n'));
});

test('the help and README.md name every exit code', () => {
  expect(findAll(helps.get('') ?? '', /^ {2}(\d+) {2,}\S/gm)).toEqual(CODES);
  const [sentence = ''] = findAll(readFile('README.md'), /^Exit codes: ([^]*?)\.\n/gm);
  expect(findAll(sentence, /(?:^|\s)(\d+) /g)).toEqual(CODES);
});

test('docs/inspect.md explains the code of every cause', () => {
  const [section = ''] = findAll(readFile('docs/inspect.md'), /^### Why does it not move\?\n([^]*?)^###? /gm);
  const codes = findAll(section, /^- (`[A-Z][^:]+):/gm).flatMap((words) => findAll(words, /`(\w+)`/g));
  expect(codes.toSorted()).toEqual(CAUSE_CODES.toSorted());
});

test('no example runs a command of xargs without input', () => {
  const texts = [...helps.values(), ...PAGES.map((page) => readFile(page))];
  const commands = texts.flatMap((text) => findAll(text, /(xargs(?: -\S+)*)/g));
  expect([...new Set(commands)]).toEqual(['xargs -r']);
});

/** Of `openshift-install`, `npm run release` and `oc adm release info`. */
const OTHER_FLAGS = new Set(['--dir', '--base-image', '--platform', '--image-for']);

test('every page names only commands and flags that exist', () => {
  const isKnown = (flag: string) => [...helps.values()].some((help) => help.includes(` ${flag} `));
  const wrong = PAGES.flatMap((page) => {
    const commands = [
      ...readFile(page)
        .replaceAll(/\\\n\s*/g, '')
        .matchAll(COMMAND),
    ];
    const ofCommands = commands.flatMap(({ groups: { line = '' } = {} }) => {
      const name = line.split(' ').find((word) => helps.has(word));
      const help = `${helps.get(name ?? '')}${helps.get('')}\n --help`;
      return (line.match(FLAG) ?? []).filter((flag) => !help.includes(flag)).map((flag) => `${line}: ${flag}`);
    });
    // In sentences and tables for users.
    const named = page.startsWith('docs/internals/') ? [] : findAll(readFile(page), /`(--[a-z][-a-z]*)[^`\n]*`/g);
    return [...ofCommands, ...named.filter((flag) => !OTHER_FLAGS.has(flag) && !isKnown(flag))];
  });
  expect(wrong).toEqual([]);
});

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

test('docs/inspect.md shows what check manifests prints', async () => {
  const [, section = ''] = /^### Before the install\n(.*?)^### /ms.exec(readFile('docs/inspect.md')) ?? [];
  const directory = createTemporaryDirectory();
  const mirrors = ['idms-release-0', 'idms-operator-0'].map((name) => {
    const type = 'apiVersion: config.openshift.io/v1\nkind: ImageDigestMirrorSet';
    return `---\n${type}\nmetadata:\n  name: ${name}\nspec: {}\n`;
  });
  writeFiles(directory, { 'openshift/idms-oc-mirror.yaml': mirrors.join('') });
  const { stdout } = await runProgram(['check', 'manifests', directory]);
  const [console = ''] = findAll(section, /```console\n([^]*?)```/g);
  const simplify = (text: string) => text.replaceAll(directory, 'cluster').replaceAll(/\s+/g, ' ');
  expect(simplify(console)).toBe(simplify(stdout));
});

import { beforeAll, expect, test } from 'vitest';
import { EXIT_CODE } from '../../src/client/exit.ts';
import { startHealthyCluster } from '../cli/inspected-cluster.ts';
import { runProgram } from '../cli/run-program.ts';
import { findAll, listFiles, readFile, readTableRows } from './pages.ts';

const PAGES = ['README.md', ...listFiles('docs').filter((file) => file.endsWith('.md'))];
const CODES = Object.values(EXIT_CODE).map(String);
const COMMAND = /(?:^|`|\| )(?:[$#] )?(?:machineconfig-guard|kubectl mcguard|oc mcguard) (?<line>[^`|\n]+)/gm;
const FLAG = /(?<=[\s[])--[a-z][-a-z]*/g;

/** The help of each command, by its name. The root has the name ''. */
const helps = new Map<string, string>();

beforeAll(async () => {
  const readHelp = async (...args: string[]) => (await runProgram([...args, '--help'])).stdout;
  helps.set('', await readHelp());
  const commands = findAll(helps.get('')?.split('Commands:')[1] ?? '', /^ {2}([a-z][-a-z]+)\b/gm);
  for (const name of commands) helps.set(name, await readHelp(name));
});

test('the help, docs/inspect.md and README.md name every exit code with the same meaning', () => {
  const table = findAll(helps.get('') ?? '', /^ {2}(\d+ {2,}\S.*)$/gm).map((row) => row.split(/ {2,}/));
  expect(table.map(([code]) => code)).toEqual(CODES);
  const rows = readTableRows('docs/inspect.md').filter(([code = '']) => CODES.includes(code));
  const withoutPunctuation = (text = '') => text.replaceAll(/[,;]/g, '').replaceAll(/\s+/g, ' ');
  const simplify = (cells: string[][]) => cells.map(([code, meaning]) => [code, withoutPunctuation(meaning)]);
  expect(simplify(rows)).toEqual(simplify(table));
  const [sentence = ''] = findAll(readFile('README.md'), /^Exit codes: ([^]*?)\.\n/gm);
  expect(findAll(sentence, /(?:^|\s)(\d+) /g)).toEqual(CODES);
});

test('every page names only commands and flags that exist', () => {
  const wrong = PAGES.flatMap((page) => {
    const text = readFile(page).replaceAll(/\\\n\s*/g, '');
    return [...text.matchAll(COMMAND)].flatMap(({ groups: { line = '' } = {} }) => {
      const name = line.split(' ').find((word) => helps.has(word));
      const help = `${helps.get(name ?? '')}${helps.get('')}\n --help`;
      const flags = line.match(FLAG) ?? [];
      return flags.filter((flag) => !help.includes(flag)).map((flag) => `${page}: ${line}: ${flag}`);
    });
  });
  expect(wrong).toEqual([]);
});

test.each([
  ['### check --output json', ['check']],
  ['### who-uses --output json', ['who-uses', '--unused']],
])('%s lists the top-level keys of the report', async (heading, args) => {
  const { run } = await startHealthyCluster();
  const report = JSON.parse((await run(...args, '-o', 'json')).stdout) as object;
  const [, section = ''] = readFile('docs/inspect.md').split(`${heading}\n`);
  const [text = ''] = section.split(/^##/m);
  const documented = findAll(text, /`([a-zA-Z]+)/g);
  expect(Object.keys(report).filter((key) => !documented.includes(key))).toEqual([]);
});

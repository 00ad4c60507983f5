import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { PAGES } from '../../../src/cli/explain/explain.ts';
import { findAll, listFiles, readFile } from '../../docs/pages.ts';
import { runProgram, usageError } from '../run-program.ts';
import { useTerminal } from '../terminal.ts';
import { CODE_DESCRIPTIONS } from '../../../src/api/codes.ts';

const CODES = Object.entries(CODE_DESCRIPTIONS);
const SEE_ALSO = '\nSee also: machineconfig-guard explain TOPIC\n';
const ALERTS = findAll(listFiles('docs/runbooks').join('\n'), /(\w+)\.md$/gm);

async function explain(...topics: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await runProgram(['explain', ...topics]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return stdout;
}

test('without a topic, lists every code, alert and page of the documentation', async () => {
  const text = (await explain()).replaceAll(/\n +/g, ' ');
  const rows = text.split('\n').map((row) => row.split(/ {2,}/));
  expect(rows).toEqual(expect.arrayContaining([...CODES]));
  const pages = findAll(listFiles('docs').join('\n'), /^docs\/(\w+)(?:\/README)?\.md$/gm);
  expect(PAGES.toSorted()).toEqual(pages.toSorted());
  const names = rows.slice(0, -1).map(([name = '']) => name);
  expect(names.toSorted()).toEqual([...CODES.map(([code]) => code), ...ALERTS, ...PAGES].toSorted());
});

test('prints each topic for a terminal, and topics that exist below "See also"', async () => {
  const topics = [...CODES, ...[...ALERTS, ...PAGES].map((topic) => [topic, ''] as const)];
  const linked = new Set<string>();
  for (const [topic, sentence] of topics) {
    const text = await explain(topic);
    expect(text.replaceAll(/\s+/g, ' ')).toContain(sentence);
    const lines = text.split('\n');
    const isMarkdown = (line: string) => /^#+ |\]\([^)]*\)(?!')|^```|\*\*|^\| .*\|$/.test(line);
    // Commands and long names are not wrapped.
    const isTooLong = (line: string) => line.length > 120 && !/^ {2}|\S{60}/.test(line);
    expect([topic, ...lines.filter((line) => isMarkdown(line) || isTooLong(line))]).toEqual([topic]);
    const [, seeAlso = ''] = text.split(SEE_ALSO);
    for (const other of findAll(seeAlso, /^ {2}(\S+)/gm)) linked.add(other);
    expect(seeAlso).not.toMatch(/^ {4,}(?:oc|machineconfig-guard) /m);
  }
  expect(linked.size).toBeGreaterThan(40);
  for (const topic of linked) expect(await explain(topic)).not.toBe('');
});

test('prints a section of a page, and no command of the sections that its links lead to', async () => {
  const [section = ''] = findAll(readFile('docs/operate.md'), /^### One config\n([^]*?)^###? /gm);
  const text = await explain('operate/one-config');
  expect(text.split('\n')[0]).toBe('One config');
  const [command = ''] = findAll(section, /^(oc annotate .*)$/gm);
  expect(text).toContain(`\n  ${command}\n`);
  const unverified = await explain('MachineConfigGuardUnverified');
  expect(unverified).toMatch(/\n {2}operate\/one-config +One config\n/);
  expect(unverified).not.toContain(command);
  // A table is a list of its rows, each with the headers.
  expect(await explain('year')).toMatch(/\n- scale a pool\n {2}the guard: holds .*\n {2}you: choose /);
  expect(await explain('operate')).toMatch(/\n- EXPOSED: can be deleted\n/);
  // The page is not in the program.
  expect(await explain('monitoring')).toMatch(/\(https:\/\/github\.com\/\S+\/blob\/main\/docs\/internals\//);
  expect(await explain('MachineConfigGuardAbsent')).toBe(await explain('machineconfigguardabsent'));
});

test.each([
  ['MCG_INUSE', 'MCG_IN_USE'],
  ['mcg-held', 'MCG_HELD'],
  ['upgrade', 'install/upgrade'],
])('prints for %s the topic %s', async (given, topic) => {
  expect(await explain(given)).toBe(await explain(topic));
});

test.each([
  ['MCG_QUITE_DIFFERENT', 'unknown topic "MCG_QUITE_DIFFERENT"; list all topics: machineconfig-guard explain\n'],
  ['MachineConfigGuardAbsentt', '; the nearest: MachineConfigGuardAbsent, '],
  ['operate/nowhere', '; the nearest: operate'],
  ['etcd', '; the nearest: '],
  [' ', '; list all topics: '],
])('for %s, names the nearest topics', async (topic, sentence) => {
  expect(await runProgram(['explain', topic])).toEqual(usageError(sentence));
});

test('fits into 80 columns, except for commands and long words', async () => {
  useTerminal(80);
  for (const topic of [...CODES.map(([code]) => code), ...ALERTS, ...PAGES]) {
    const [text = '', seeAlso = ''] = stripVTControlCharacters(await explain(topic)).split(SEE_ALSO);
    const prose = text.split('\n').filter((line) => !/^ {2}|\S{50}/.test(line));
    const tooLong = [...prose, ...seeAlso.split('\n')].filter((line) => line.length > 80);
    expect([topic, ...tooLong]).toEqual([topic]);
  }
});

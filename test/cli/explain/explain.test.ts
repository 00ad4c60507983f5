import { expect, test } from 'vitest';
import { PAGES } from '../../../src/cli/explain/pages.ts';
import { CODE_DESCRIPTIONS } from '../../../src/decision/verdict.ts';
import { findAll, listFiles, readFile } from '../../docs/pages.ts';
import { runProgram, usageError } from '../run-program.ts';

const CODES = Object.entries(CODE_DESCRIPTIONS);
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

test.each([...CODES, ...[...ALERTS, ...PAGES].map((topic) => [topic, ''] as const)])(
  'prints the text of %s for a terminal',
  async (topic, sentence) => {
    const text = await explain(topic);
    expect(text.replaceAll(/\s+/g, ' ')).toContain(sentence);
    const lines = text.split('\n');
    expect(lines.filter((line) => /^#+ |\]\([^)]*\)(?!')|^```|\*\*|^\| .*\|$/.test(line))).toEqual([]);
    // Commands and long names are not wrapped.
    expect(lines.filter((line) => line.length > 120 && !/^ {2}|\S{60}/.test(line))).toEqual([]);
  },
);

test('every topic below "See also" exists, with its commands', async () => {
  const topics = [...CODES.map(([code]) => code), ...ALERTS, ...PAGES];
  const texts = await Promise.all(topics.map((topic) => explain(topic)));
  const linked = new Set(texts.flatMap((text) => findAll(text, /^ {2}machineconfig-guard explain (\S+)$/gm)));
  expect(linked.size).toBeGreaterThan(40);
  for (const topic of linked) expect(await explain(topic)).not.toBe('');
  // The page is not in the program.
  expect(texts.join('')).toContain(
    '(https://github.com/machineconfig-guard/machineconfig-guard/blob/main/docs/internals/',
  );
});

test('prints a section of a page, and the commands that its links lead to', async () => {
  const [section = ''] = findAll(readFile('docs/operate.md'), /^### One config\n([^]*?)^###? /gm);
  const text = await explain('operate/one-config');
  expect(text.split('\n')[0]).toBe('One config');
  const [command = ''] = findAll(section, /^(oc annotate .*)$/gm);
  expect(text).toContain(`\n  ${command}\n`);
  const unverified = await explain('MachineConfigGuardUnverified');
  expect(unverified).toContain(`\n  machineconfig-guard explain operate/one-config\n    ${command}\n`);
  // A table is a list of its rows.
  expect(await explain('year')).toMatch(/\n- scale a pool: holds [^;]*; choose /);
  expect(await explain('operate')).toMatch(/\n- EXPOSED: can be deleted\n/);
  // The output of a console block is no command.
  expect(await explain('MachineConfigGuardDanglingReference')).not.toMatch(/^ {4}NODE /m);
});

test.each([
  ['MCG_IN_USE', ['mcg_in_use', 'in-use', 'inuse']],
  ['MachineConfigGuardAbsent', ['machineconfigguardabsent', 'absent']],
])('accepts %s also as %j', async (topic, others) => {
  const text = await explain(topic);
  for (const other of others) expect(await explain(other)).toBe(text);
});

test.each([
  ['MCG_QUITE_DIFFERENT', 'unknown topic "MCG_QUITE_DIFFERENT"; run it without a topic to list all'],
  ['operate/nowhere', 'unknown section "operate/nowhere"'],
])('rejects %s', async (topic, sentence) => {
  expect(await runProgram(['explain', topic])).toEqual(usageError(sentence));
});

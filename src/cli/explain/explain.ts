import path from 'node:path';
import { Argument, Command } from 'commander';
import { CliError, EXIT_CODE } from '../../client/exit.ts';
import { applyStyle, createFormat, type TextFormat, wrapBeside } from '../../client/output/text-format.ts';
import { readPackageFile } from '../../files/package-file.ts';
import { CODE_DESCRIPTIONS, DOCS_BASE } from '../../api/codes.ts';

export const PAGES = 'install operate codes inspect troubleshooting audit monitoring year fleet'.split(' ');
const ALERT = /^\| \[(\w+)\]\(runbooks\//gm;
const MEANING = /^## Meaning\n\n([^]*?)\n\n/m;
const LINK = /\[([^\]]*)\]\(([^)]*)\)/g;
const HEADING = /^(#+) (.*)$/;
const LIST_ITEM = /^( *(?:- |\d+\. )|)(.*)$/;
/** With its language, and its text, which ends with a line feed. */
const CODE = /^```(\w*)\n([^]*?)^```$/m;
/** Of a paragraph or a list item. Headings and tables have single lines. */
const WRAPPED_LINE = /(?<=^[^#|\n].*)\n(?! *(?:- |\d+\. )|[#|]|$) */gm;
const TABLE_RULE = /^\|[-|: ]+$/;
const COMMAND = /^\$ (?:.*\\\n)*.*$/gm;

export function createExplainCommand(): Command {
  const command = new Command('explain')
    .description('Explain a code of the guard or an alert, and what to do.')
    .addArgument(new Argument('[topic]', 'a code, an alert, or a page of the documentation and its section'))
    .addHelpText(
      'after',
      `
The text is the documentation of this version. Without a topic, the command
lists all codes, alerts and pages. It needs neither a cluster nor the internet.
Exit codes: 0 printed, 2 unknown topic.

Examples:
  machineconfig-guard explain
  machineconfig-guard explain MCG_IN_USE
  machineconfig-guard explain MachineConfigGuardAbsent
  machineconfig-guard explain install/upgrade`,
    )
    .action((topic: string | undefined) => {
      const topics = listTopics();
      const text = topic === undefined ? formatTopics(topics) : formatTopic(findTopic(topic, topics), createFormat());
      if (text === undefined) throw new CliError(`unknown section ${JSON.stringify(topic)}`, EXIT_CODE.usage);
      command.configureOutput().writeOut?.(text);
    });
  return command;
}

function findTopic(given: string, topics: Topics): string {
  const [page = '', section] = given.split('/');
  const topic = [...topics.keys()].find((name) => name.toLowerCase() === page.toLowerCase());
  if (topic !== undefined) return section === undefined ? topic : `${topic}/${section}`;
  const problem = `unknown topic ${JSON.stringify(given)}; run it without a topic to list all`;
  throw new CliError(problem, EXIT_CODE.usage);
}

function formatTopics(topics: Topics): string {
  const { width } = createFormat();
  const columns = Math.max(...[...topics.keys()].map((topic) => topic.length)) + 2;
  return [...topics].map(([topic, meaning]) => `${wrapBeside(topic.padEnd(columns), meaning, width)}\n`).join('');
}

type Topics = ReadonlyMap<string, string>;

/** Every code, alert and page, with its meaning. A topic can also be a section of a page, such as `install/upgrade`. */
function listTopics(): Topics {
  const alerts = [...readPackageFile('docs/monitoring.md').matchAll(ALERT)].map(([, alert = '']) => alert);
  return new Map([
    ...Object.entries(CODE_DESCRIPTIONS),
    ...alerts.map((alert): [string, string] => [alert, findMeaning(toFile(alert))]),
    ...PAGES.map((page): [string, string] => [page, /^# (.*)/.exec(readPackageFile(toFile(page)))?.[1] ?? '']),
  ]);
}

function findMeaning(runbook: string): string {
  const [, paragraph = ''] = MEANING.exec(readPackageFile(runbook)) ?? [];
  return toText(paragraph.replaceAll('\n', ' '), runbook);
}

/** The section or page of a topic, and the commands that its links lead to. Undefined without such a section. */
function formatTopic(topic: string, format: TextFormat): string | undefined {
  const [name = '', anchor = topic.startsWith('MCG_') ? topic.toLowerCase() : undefined] = topic.split('/');
  const file = toFile(name);
  const text = findSection(file, anchor);
  if (text === undefined) return undefined;
  const topics = [...text.matchAll(LINK)].flatMap(([, , target = '']) => toTopic(file, target) ?? []);
  const others = [...new Set(topics)].filter((other) => other !== topic);
  const seeAlso =
    others.length === 0 ? [] : ['', applyStyle(format, 'bold', 'See also'), ...others.map(formatReference)];
  return `${[formatMarkdown(text, file, format).trimEnd(), ...seeAlso].join('\n')}\n`;
}

function toFile(name: string): string {
  if (name.startsWith('MCG_')) return 'docs/codes.md';
  if (name.startsWith('Machine')) return `docs/runbooks/${name}.md`;
  return name === 'fleet' ? 'docs/fleet/README.md' : `docs/${name}.md`;
}

/** Undefined for a target outside of the pages. */
function toTopic(file: string, target: string): string | undefined {
  const [page = '', anchor] = target.split('#');
  const linked = page === '' ? file : path.posix.join(path.posix.dirname(file), page);
  if (linked === 'docs/codes.md' && anchor !== undefined) return anchor.toUpperCase();
  const alert = /^docs\/runbooks\/(\w+)\.md$/.exec(linked)?.[1];
  const name = alert ?? PAGES.find((candidate) => toFile(candidate) === linked);
  return alert !== undefined || name === undefined || anchor === undefined ? name : `${name}/${anchor}`;
}

/** The text of a page, or from a heading to the next of its level. */
function findSection(file: string, anchor: string | undefined): string | undefined {
  const text = readPackageFile(file).trimEnd();
  if (anchor === undefined) return text;
  const lines = text.split('\n');
  let isCode = false;
  const levels = lines.map((line) => {
    if (line.startsWith('```')) isCode = !isCode;
    return isCode ? 0 : (HEADING.exec(line)?.[1]?.length ?? 0);
  });
  const start = lines.findIndex((line, index) => levels[index] !== 0 && toAnchor(line) === anchor);
  if (start < 0) return undefined;
  const end = levels.findIndex((level, index) => index > start && level > 0 && level <= (levels[start] ?? 0));
  return lines.slice(start, end < 0 ? undefined : end).join('\n');
}

function toAnchor(line: string): string {
  const text = HEADING.exec(line)?.[2] ?? '';
  return text.toLowerCase().replaceAll(/[^\w-]/g, (character) => (character === ' ' ? '-' : ''));
}

function formatReference(topic: string): string {
  const [name = '', anchor] = topic.split('/');
  const text = name.startsWith('MCG_') ? '' : (findSection(toFile(name), anchor ?? 'mitigation') ?? '');
  const commands = [...text.matchAll(new RegExp(CODE, 'gm'))].flatMap(([, language, code = '']) =>
    language === 'sh' ? [code.trimEnd()] : Array.from(code.matchAll(COMMAND), ([command]) => command.slice(2)),
  );
  return [`  machineconfig-guard explain ${topic}`, ...commands.map((command) => indent(4, command))].join('\n');
}

/** Formats Markdown for a terminal: wraps it, and makes a list of a table. */
function formatMarkdown(markdown: string, file: string, format: TextFormat): string {
  // Each block of code is two parts: its language and its text.
  const parts = markdown.split(CODE).map((part, index) => {
    if (index % 3 === 1) return '';
    if (index % 3 === 2) return indent(2, part.replaceAll(/^\$ /gm, '').trimEnd());
    return formatProse(toText(part.replaceAll(WRAPPED_LINE, ' '), file).split('\n'), format);
  });
  return parts.join('');
}

function formatProse(lines: readonly string[], format: TextFormat): string {
  let headers: readonly string[] = [];
  const formatted = lines.flatMap((line, index) => {
    const isHeader = TABLE_RULE.test(lines[index + 1] ?? '');
    if (isHeader) headers = splitRow(line);
    if (isHeader || TABLE_RULE.test(line)) return [];
    return line.startsWith('|') ? formatRow(splitRow(line), headers, format) : formatLine(line, format);
  });
  return formatted.join('\n');
}

function splitRow(line: string): readonly string[] {
  return line.split(/ *\| */).slice(1, -1);
}

/** The first cell names the row, and the headers name the others if there are several. */
function formatRow([name = '', ...cells]: readonly string[], [, ...headers]: readonly string[], { width }: TextFormat) {
  if (cells.length === 1) return [wrapBeside('- ', `${name}: ${cells[0]}`, width)];
  const named = cells.map((cell, index) => (cell === '' ? [] : wrapBeside('  ', `${headers[index]}: ${cell}`, width)));
  return [wrapBeside('- ', name, width), ...named.flat()];
}

function indent(spaces: number, text: string): string {
  return text.replaceAll(/^(?=.)/gm, ' '.repeat(spaces));
}

function formatLine(line: string, format: TextFormat): string[] {
  const { width } = format;
  const heading = HEADING.exec(line)?.[2];
  if (heading !== undefined) return [applyStyle(format, 'bold', wrapBeside('', heading, width))];
  const [, label = '', content = ''] = LIST_ITEM.exec(line) ?? [];
  return [wrapBeside(label, content, width)];
}

/** A terminal has no links. */
function toText(markdown: string, file: string): string {
  return markdown
    .replaceAll(LINK, (_link, text: string, target: string) => {
      if (toTopic(file, target) !== undefined) return text;
      const url = /^https?:/.test(target) ? target : new URL(target, DOCS_BASE.replace(/docs$/, file)).href;
      return `${text} (${url})`;
    })
    .replaceAll(/\*\*([^*]*)\*\*/g, '$1');
}

import path from 'node:path';
import { readPackageFile } from '../../common/package-file.ts';
import { CODE_DESCRIPTIONS, DOCS_BASE } from '../../decision/verdict.ts';
import { applyStyle, type TextFormat, wrapBeside } from '../../client/output/text-format.ts';

/** The pages for administrators, which a topic can name, too. */
export const PAGES = [
  'install',
  'operate',
  'codes',
  'inspect',
  'troubleshooting',
  'audit',
  'monitoring',
  'year',
  'fleet',
];
/** Whoever reads this has the program. */
const OWN_INSTALLATION = 'install/get-the-program';
const ALERT = /^\| \[(\w+)\]\(runbooks\//gm;
const MEANING = /^## Meaning\n\n([^]*?)\n\n/m;
const LINK = /\[([^\]]*)\]\(([^)]*)\)/g;
const HEADING = /^(#+) (.*)$/;
const FENCE = /^```(\w*)/;
const LIST_ITEM = /^( *(?:- |\d+\. )|)(.*)$/;
const STARTS_BLOCK = /^(?:$|#|\|| *- | *\d+\. )/;

export type Topics = ReadonlyMap<string, string>;

/** Every code, alert and page, with its meaning. A topic can also be a section of a page, such as `install/upgrade`. */
export function listTopics(): Topics {
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
export function formatTopic(topic: string, format: TextFormat): string | undefined {
  const [name = '', anchor = topic.startsWith('MCG_') ? topic.toLowerCase() : undefined] = topic.split('/');
  const file = toFile(name);
  const lines = findSection(file, anchor);
  if (lines === undefined) return undefined;
  const topics = [...lines.join(' ').matchAll(LINK)].flatMap(([, , target = '']) => toTopic(file, target) ?? []);
  const others = [...new Set(topics)].filter((other) => other !== topic && other !== OWN_INSTALLATION);
  const seeAlso =
    others.length === 0 ? [] : ['', applyStyle(format, 'bold', 'See also'), ...others.map(formatReference)];
  return `${[formatLines(lines, file, format).join('\n').trimEnd(), ...seeAlso].join('\n')}\n`;
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

/** The lines of a page, or those from a heading to the next of its level. */
function findSection(file: string, anchor: string | undefined): readonly string[] | undefined {
  const lines = readPackageFile(file).trimEnd().split('\n');
  if (anchor === undefined) return lines;
  let isCode = false;
  const levels = lines.map((line) => {
    if (FENCE.test(line)) isCode = !isCode;
    return isCode ? 0 : (HEADING.exec(line)?.[1]?.length ?? 0);
  });
  const start = lines.findIndex((line, index) => levels[index] !== 0 && toAnchor(line) === anchor);
  if (start < 0) return undefined;
  const end = levels.findIndex((level, index) => index > start && level > 0 && level <= (levels[start] ?? 0));
  return lines.slice(start, end < 0 ? undefined : end);
}

/** As GitHub does. */
function toAnchor(line: string): string {
  const text = HEADING.exec(line)?.[2] ?? '';
  return text
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
}

/** How to read the section, and its commands, or without any those of its parts. */
function formatReference(topic: string): string {
  const [name = '', anchor] = topic.split('/');
  const lines = name.startsWith('MCG_') ? [] : (findSection(toFile(name), anchor ?? 'mitigation') ?? []);
  const commands: string[] = [];
  let language = '';
  for (const [index, line] of lines.entries()) {
    const [fence, opened = ''] = FENCE.exec(line) ?? [];
    if (fence !== undefined) language = language === '' ? opened : '';
    else if (language === '' && HEADING.test(line) && commands.length > 0) break;
    // A console block has output, too.
    else if (
      language === 'sh' ||
      line.startsWith('$ ') ||
      (language === 'console' && lines[index - 1]?.endsWith('\\') === true)
    )
      commands.push(`    ${line.replace(/^\$ /, '')}`);
  }
  return [`  machineconfig-guard explain ${topic}`, ...commands].join('\n');
}

/** Formats Markdown for a terminal: wraps it, and makes a list of a table. */
function formatLines(lines: readonly string[], file: string, format: TextFormat): string[] {
  const blocks: string[] = [];
  let isCode = false;
  for (const line of lines) {
    const isNew = STARTS_BLOCK.test(line) || /^(?:$|#|\||```)/.test(blocks.at(-1) ?? '');
    if (FENCE.test(line)) isCode = !isCode;
    else if (isCode) blocks.push(`\`\`\`${line.replace(/^\$ /, '')}`);
    else if (isNew) blocks.push(line);
    else blocks.push(`${blocks.pop()} ${line.trim()}`);
  }
  let headers: readonly string[] = [];
  return blocks.flatMap((block) => {
    if (block.startsWith('```')) return `  ${block.slice(3)}`;
    const text = toText(block, file);
    if (!text.startsWith('|')) headers = [];
    else if (headers.length > 0) return /^\|[-|: ]+$/.test(text) ? [] : formatRow(splitCells(text), headers, format);
    else headers = splitCells(text);
    return headers.length > 0 ? [] : formatBlock(text, format);
  });
}

function splitCells(row: string): readonly string[] {
  return row
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
}

/** The first cell names the row, and the headers name the others if there are several. */
function formatRow([name = '', ...cells]: readonly string[], [, ...headers]: readonly string[], format: TextFormat) {
  if (cells.length === 1) return [wrapBeside('- ', `${name}: ${cells[0]}`, format.width)];
  const lines = cells.map((cell, index) =>
    cell === '' ? [] : wrapBeside('  ', `${headers[index]}: ${cell}`, format.width),
  );
  return [wrapBeside('- ', name, format.width), ...lines.flat()];
}

function formatBlock(text: string, format: TextFormat): string {
  const heading = HEADING.exec(text)?.[2];
  if (heading !== undefined) return applyStyle(format, 'bold', wrapBeside('', heading, format.width));
  const [, label = '', content = ''] = LIST_ITEM.exec(text) ?? [];
  return wrapBeside(label, content, format.width);
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

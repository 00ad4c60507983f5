import path from 'node:path';
import { Argument, Command } from 'commander';
import { CliError, EXIT_CODE } from '../../client/exit.ts';
import { advise } from '../../client/output/advice.ts';
import { applyStyle, createFormat, type TextFormat, wrapBeside } from '../../client/output/text-format.ts';
import { groupBy } from '../../common/group-by.ts';
import { joinFirst } from '../../common/printable-text.ts';
import { shell, verbatim } from '../../diagnosis/shell-command.ts';
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
/** An item of a list that begins with a word that the program prints. */
const CODE_ITEM = /^- `[A-Z]\w+`.*(?:\n {2}.*)*/gm;
const CODE_IN_ITEM = /`([A-Z][A-Za-z]+)`/g;
const QUOTE = /`(.+?)`/g;
/** A message names the resource in the singular or the plural, with or without its group. */
const PLURAL_OR_GROUP = /(?<=machineconfig)(?:s?\.machineconfiguration\.openshift\.io|s\b)/gi;
const TABLE_RULE = /^\|[-|: ]+$/;
/** Names that are as near as this are probably meant. */
const MIN_SIMILARITY = 0.6;
const MAX_NEAREST = 5;

export function createExplainCommand(): Command {
  const command = new Command('explain')
    .description('Explain a code, an alert or an error message, and what to do.')
    .addArgument(
      new Argument('[topic...]', 'a code, state or alert, an error message, or a page and its section').default([]),
    )
    .addHelpText(
      'after',
      `
The text is the documentation of this version. Without a topic, the command
lists all codes, alerts and pages. For another word, it prints the nearest
topics. It needs neither a cluster nor the internet.
Exit codes: 0 printed, 2 unknown topic.

Examples:
  machineconfig-guard explain
  machineconfig-guard explain MCG_IN_USE
  machineconfig-guard explain ConfigMissing
  machineconfig-guard explain MachineConfigGuardAbsent
  machineconfig-guard explain 'missing MachineConfig rendered-master-553d5d52'
  machineconfig-guard explain install/upgrade`,
    )
    .action(async (words: readonly string[]) => {
      const topics = listTopics();
      if (words.length === 0) return command.configureOutput().writeOut?.(formatTopics(topics));
      const items = [...PAGES.flatMap(listItems), ...(await listRules())];
      const text = formatTopic(findTopic(words.join(' '), topics, items), topics, items, createFormat());
      command.configureOutput().writeOut?.(text);
    });
  return command;
}

/** @throws CliError with the nearest topics if none has the name, and no heading quotes the text */
function findTopic(given: string, topics: Topics, items: readonly Item[]): string {
  const sections = PAGES.flatMap(listSections).filter((section) => !PAGES.includes(section.topic));
  const codes = new Set([...topics.keys(), ...items.flatMap((item) => item.codes)]);
  const names = [...new Set([...codes, ...sections.map(({ topic: name }) => name)])];
  const wanted = simplify(/\bMCG_\w+/.exec(given)?.[0] ?? given);
  const topic = names.find((name) => simplify(name) === wanted) ?? findQuote(given);
  if (topic !== undefined) return topic;

  const isNear = (name: string): boolean => wanted !== '' && simplify(name).includes(wanted);
  const includes = names.filter(isNear);
  if (includes.length === 1) return String(includes[0]);
  const similar = names
    .map((name) => ({ name, similarity: compareTexts(simplify(name), wanted) }))
    .filter(({ similarity }) => similarity >= MIN_SIMILARITY)
    .toSorted((one, other) => other.similarity - one.similarity)
    .map(({ name }) => name);
  const word = given.trim().toLowerCase();
  const mentions = sections.filter(({ text }) => word !== '' && text.toLowerCase().includes(word));
  const nearSections = sections.filter((section) => isNear(section.topic));
  // The runbook of a problem comes before the sections about it.
  const runbooks = nearSections.flatMap(listLinks).filter(isAlert);
  const near = new Set([...[...codes].filter(isNear), ...runbooks, ...nearSections.map((section) => section.topic)]);
  const mentioning = mentions.map((section) => section.topic);
  const nearest = [[...near], similar, mentioning].find((found) => found.length > 0) ?? [];
  const advice = advise(
    nearest.length === 0 ? 'list all topics' : `the nearest: ${joinFirst(nearest, MAX_NEAREST)}; read the first`,
    shell`machineconfig-guard explain ${nearest.slice(0, 1).map(verbatim)}`,
  );
  throw new CliError(`unknown topic ${JSON.stringify(given)}`, EXIT_CODE.usage, { advice });
}

/**
 * The section whose heading quotes a part of a message, in which `…` stands for anything. Of several, that with the
 * longest quote.
 */
function findQuote(message: string): string | undefined {
  const wanted = simplify(message);
  const quotes = listSections('troubleshooting').flatMap(({ topic, title }) =>
    Array.from(title.matchAll(QUOTE), ([, quote = '']) => ({ topic, parts: quote.split('…').map(simplify) })),
  );
  const [longest] = quotes
    .filter(({ parts }) => new RegExp(parts.join('.*')).test(wanted))
    .toSorted((one, other) => other.parts.join('').length - one.parts.join('').length);
  return longest?.topic;
}

/** `MCG_INUSE` and `mcg-in-use` mean `MCG_IN_USE`. */
function simplify(name: string): string {
  return name
    .replaceAll(PLURAL_OR_GROUP, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9/]/g, '');
}

/** The share of the pairs of letters that both texts have: from 0 to 1. */
function compareTexts(one: string, other: string): number {
  const pairs = listPairs(one);
  const others = listPairs(other);
  const common = [...pairs].filter((pair) => others.has(pair));
  return (2 * common.length) / (pairs.size + others.size || 1);
}

function listPairs(text: string): ReadonlySet<string> {
  return new Set(Array.from(text.slice(1), (letter, index) => `${text[index]}${letter}`));
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

/** An item of a list, or a sentence, about words that the program prints. */
interface Item {
  readonly codes: readonly string[];
  /** The topic of the section in which it stands. */
  readonly section: string;
  readonly title: string;
  /** Markdown. */
  readonly text: string;
}

function listItems(page: string): readonly Item[] {
  return listSections(page).flatMap(({ topic: section, title, ownText }) =>
    Array.from(ownText.matchAll(CODE_ITEM), ([text]) => {
      const codes = Array.from(text.matchAll(CODE_IN_ITEM), ([, code = '']) => code);
      return { codes, section, title, text };
    }),
  );
}

/** The rules of `check manifests`, in the words of its report. */
async function listRules(): Promise<readonly Item[]> {
  const { RULES } = await import('../../manifests/rules/rules.ts');
  return Object.entries(RULES).map(([code, { message, advice }]) => {
    const text = `${code}: ${typeof message === 'string' ? message : message('…')}; ${advice}.`;
    return { codes: [code], section: 'inspect/before-the-install', title: 'Before the install', text };
  });
}

function findMeaning(runbook: string): string {
  const [, paragraph = ''] = MEANING.exec(readPackageFile(runbook)) ?? [];
  return toText(paragraph.replaceAll('\n', ' '), runbook);
}

/**
 * The section, the page or the items of a topic, and the topics that its links lead to, each with its meaning. Without
 * their commands: one that stands away from its explanation can be wrong for the reader.
 */
function formatTopic(topic: string, topics: Topics, items: readonly Item[], format: TextFormat): string {
  const passages = listPassages(topic, items);
  const links = passages.flatMap(({ section, text }) => [section, ...listLinks({ topic: section, text })]);
  const isItem = passages.some(({ section }) => section !== topic);
  const related = [...topics.keys()].filter((name) => isItem && simplify(name).includes(simplify(topic)));
  const others = [...new Set([...links, ...related])].filter((other) => other !== topic);
  const bodies = passages.map(({ section, text }) => formatMarkdown(text, toFile(section), format).trimEnd());
  const body = bodies.join('\n\n');
  if (others.length === 0) return `${body}\n`;
  const title = applyStyle(format, 'bold', 'See also: machineconfig-guard explain TOPIC');
  const lines = others.map((other) => {
    const meaning = topics.get(other) ?? findSection(other)?.title ?? '';
    return wrapBeside('- ', `${other}: ${meaning}`, format.width);
  });
  return `${[body, '', title, ...lines].join('\n')}\n`;
}

/** What explains a topic, as Markdown: the items that have the code, or else its page or section. */
function listPassages(topic: string, items: readonly Item[]) {
  const ofTopic = items.filter(({ codes }) => codes.includes(topic));
  if (ofTopic.length === 0) return [{ section: topic, text: findSection(topic)?.text ?? '' }];
  const sections = groupBy(ofTopic, ({ section, title }) => `${section}\n## ${title}\n`);
  return Array.from(sections, ([head, group]) => {
    const [section = '', ...lines] = head.split('\n');
    return { section, text: [...lines, ...group.map(({ text }) => text)].join('\n') };
  });
}

/** The topics that the links of a text lead to. */
function listLinks({ topic, text }: Pick<Section, 'topic' | 'text'>): readonly string[] {
  return [...text.matchAll(LINK)].flatMap(([, , target = '']) => toTopic(toFile(topic), target) ?? []);
}

/** A heading of a page, and what stands below it. */
interface Section {
  /** Such as `install/upgrade`, a code, or for the first heading of a page its name. */
  readonly topic: string;
  readonly title: string;
  /** Markdown, with the sections below it. */
  readonly text: string;
  /** Markdown, up to the next heading. */
  readonly ownText: string;
}

/** Undefined without such a section. */
function findSection(topic: string): Section | undefined {
  const [page = ''] = topic.startsWith('MCG_') ? ['codes'] : topic.split('/');
  return listSections(page).find((section) => section.topic === topic);
}

/** The page as its first heading, and its sections. Comments in blocks of code are no headings. */
function listSections(page: string): readonly Section[] {
  const lines = readPackageFile(toFile(page)).trimEnd().split('\n');
  let isCode = false;
  const headings = lines.flatMap((content, line) => {
    if (content.startsWith('```')) isCode = !isCode;
    const [, marks = '', title = ''] = HEADING.exec(isCode ? '' : content) ?? [];
    return marks === '' ? [] : [{ line, level: marks.length, title }];
  });
  return headings.map(({ line, level, title }, index) => {
    const following = headings.slice(index + 1);
    const end = following.find((other) => other.level <= level);
    return {
      topic: level === 1 ? page : toSectionTopic(page, toAnchor(title)),
      title,
      text: lines.slice(line, end?.line).join('\n'),
      ownText: lines.slice(line, following[0]?.line).join('\n'),
    };
  });
}

function toSectionTopic(page: string, anchor: string): string {
  return page === 'codes' ? anchor.toUpperCase() : `${page}/${anchor}`;
}

function toFile(topic: string): string {
  const [name = ''] = topic.split('/');
  if (name.startsWith('MCG_')) return 'docs/codes.md';
  if (isAlert(name)) return `docs/runbooks/${name}.md`;
  return name === 'fleet' ? 'docs/fleet/README.md' : `docs/${name}.md`;
}

function isAlert(topic: string): boolean {
  return topic.startsWith('Machine');
}

/** Undefined for a target outside of the pages. */
function toTopic(file: string, target: string): string | undefined {
  const [page = '', anchor] = target.split('#');
  const linked = page === '' ? file : path.posix.join(path.posix.dirname(file), page);
  const alert = /^docs\/runbooks\/(\w+)\.md$/.exec(linked)?.[1];
  const name = alert ?? PAGES.find((candidate) => toFile(candidate) === linked);
  return alert !== undefined || name === undefined || anchor === undefined ? name : toSectionTopic(name, anchor);
}

function toAnchor(title: string): string {
  return title.toLowerCase().replaceAll(/[^\w-]/g, (character) => (character === ' ' ? '-' : ''));
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
  const formatted = lines.flatMap((line, index) => {
    const isTableHead = TABLE_RULE.test(line) || TABLE_RULE.test(lines[index + 1] ?? '');
    return isTableHead ? [] : line.startsWith('|') ? formatRow(line, format) : formatLine(line, format);
  });
  return formatted.join('\n');
}

/** The first cell is the name of the row, and the last one says what it is. */
function formatRow(row: string, { width }: TextFormat): string {
  const [name, ...cells] = row.split(/ *\| */).filter(Boolean);
  const details = cells.slice(0, -1).join(', ');
  return wrapBeside('- ', `${name}${details && ` (${details})`}: ${cells.at(-1)}`, width);
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

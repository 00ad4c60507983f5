import path from 'node:path';
import { Command } from 'commander';
import { CODE_DESCRIPTIONS } from '../../api/codes.ts';
import { CliError, EXIT_CODE } from '../../client/exit.ts';
import { advise } from '../../client/output/advice.ts';
import { createFormat, wrapBeside } from '../../client/output/text-format.ts';
import { shell } from '../../diagnosis/shell-command.ts';
import { readPackageFile } from '../../files/package-file.ts';

export const PAGES = 'README codes install operate inspect troubleshooting audit monitoring year fleet'.split(' ');
const ALERT = /^\| \[(\w+)\]\(runbooks\//gm;
/** A heading and what stands below it, up to the next one. A comment in a block of code has no empty line after it. */
const SECTION = /^(?=#+ .*\n\n)/m;
const HEADING = /^(#+) (.*)/;
const MEANING = /^## Meaning\n\n([^]*?)\n\n/m;
const LINK = /\[([^\]]*)\]\(([^)]*)\)/g;
/** An item of a list that begins with a word that the program prints. */
const CODE_ITEM = /^- `[A-Z]\w+`.*(?:\n {2}.*)*/gm;
const CODE_IN_ITEM = /`([A-Z][A-Za-z]+)`/g;
/** A block of code, or else a paragraph, a heading or an item of a list, with its label and its lines. */
const BLOCK = /^ *```[^]*?^ *```$|^( *(?:- |\d+\. |#+ )?)([^\s|].*(?:\n(?! *(?:- |\d+\. )|[#|]|$).*)*)/gm;
/** Of a command, which a person copies. */
const PROMPT = /^\$ /gm;
const QUOTE = /`(.+?)`/g;
/** A message names the resource in the singular or the plural, with or without its group. */
const PLURAL_OR_GROUP = /(?<=machineconfig)(?:s?\.machineconfiguration\.openshift\.io|s\b)/gi;
const MAX_NEAREST = 5;
const TITLE_WEIGHT = 3;
/** Words of a question or of a name that say nothing about its topic. */
const COMMON_WORDS: ReadonlySet<string> = new Set(
  (
    'a an and are can cluster config do does for guard how i in is it know machine mcg my of one or our switch that ' +
    'the to turn was we what when where which who why'
  ).split(' '),
);
/** Also a part of a name such as `DiskDiffers`. */
const WORD = /[A-Z]+(?![a-z])|[A-Z]?[a-z\d.]*[a-z\d]/g;
/** The end of a word is not compared, so that `blocked` finds `blocking`. */
const MIN_BEGINNING = 5;
const MAX_ENDING = 2;

export function createExplainCommand(): Command {
  const command = new Command('explain')
    .description('Explain a code, an alert or an error message, and what to do.')
    // An error message can begin with a flag.
    .allowUnknownOption()
    .argument('[topic...]', 'a code, state or alert, an error message, or a page and its section')
    .addHelpText(
      'after',
      `
The text is the documentation of this version. Without a topic, the command
lists all codes, alerts and pages. For another word, it prints the section that
begins with it, or lists the nearest topics. It needs neither a cluster nor the
internet.
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
      const entries = await listEntries();
      const mainTopics = entries.filter(({ topics, section }) => topics.includes(section) && !section.includes('/'));
      const text =
        words.length === 0 ? formatTopics(mainTopics) : formatTopic(words.join(' '), entries, await readAliases());
      command.configureOutput().writeOut?.(`${text}\n`);
    });
  return command;
}

/** What explains one topic: a page, a section of it, or an item of a list. */
interface Entry {
  /** A page, a section such as `install/upgrade`, an alert, or codes that the program prints. */
  readonly topics: readonly string[];
  /** The topic of the section in which it stands: its own, unless it is an item. */
  readonly section: string;
  readonly meaning: string;
  /** Markdown. */
  readonly text: string;
  /** The part of the text that no other entry has. */
  readonly own: string;
}

async function listEntries(): Promise<readonly Entry[]> {
  const { RULES } = await import('../../manifests/rules/rules.ts');
  // In the words of the report of `check manifests`.
  const rules = Object.entries(RULES).map(([code, { message, advice }]) => {
    const text = `${code}: ${typeof message === 'string' ? message : message('…', 'error')}; ${advice}.`;
    return { topics: [code], section: 'inspect/before-the-install', meaning: text, text, own: text };
  });
  const alerts = Array.from(readPackageFile('docs/monitoring.md').matchAll(ALERT), ([, alert = '']) => alert);
  return [...[...PAGES, ...alerts].flatMap(readPage), ...rules];
}

/** The topics of words that the pages do not have, or have elsewhere. Other commands need neither them nor YAML. */
export async function readAliases(): Promise<Readonly<Record<string, string>>> {
  const { parseYaml } = await import('../../files/yaml-document.ts');
  const file = 'docs/aliases.yaml';
  return parseYaml(readPackageFile(file), file).value as Readonly<Record<string, string>>;
}

/** The page and its sections, each with the sections below it, and the items that stand in each. */
function readPage(page: string): readonly Entry[] {
  const sections = readPackageFile(toFile(page)).split(SECTION);
  const levels = sections.map((text) => HEADING.exec(text)?.[1]?.length ?? 0);
  return sections.flatMap((own, index) => {
    const title = HEADING.exec(own)?.[2] ?? '';
    const section = index === 0 ? page : toSectionTopic(page, toAnchor(title));
    const below = levels.slice(index + 1).findIndex((level) => level <= Number(levels[index]));
    const text = sections.slice(index, below < 0 ? undefined : index + 1 + below).join('');
    const meaning = (CODE_DESCRIPTIONS as Record<string, string>)[section] ?? MEANING.exec(text)?.[1] ?? title;
    const items = Array.from(own.matchAll(CODE_ITEM), ([item]) => {
      const topics = Array.from(item.matchAll(CODE_IN_ITEM), ([, code = '']) => code);
      return { topics, section, meaning, text: item, own: item };
    });
    return [{ topics: [section], section, meaning, text, own: isAlert(section) ? text : own }, ...items];
  });
}

/**
 * The topic of the given name, or whose heading quotes the given text, or the section that begins with its words. Of
 * several sections with these words, the others follow. Otherwise only the topics that have most of the words.
 * @throws CliError if no topic has any of the words
 */
function findTopics(given: string, entries: readonly Entry[], aliases: Readonly<Record<string, string>>) {
  const topics = [...new Set(entries.flatMap((entry) => entry.topics))];
  const wanted = simplify(/\bMCG_\w+/.exec(given)?.[0] ?? given);
  const words = listWords(given);
  const isMeant = (name: string): boolean => words.length > 0 && listWords(name).join() === words.join();
  const topic =
    topics.find((name) => name === given) ??
    topics.find((name) => simplify(name) === wanted) ??
    findQuote(given, entries) ??
    topics.find(isMeant) ??
    aliases[words.join(' ')] ??
    aliases[given.toLowerCase()];
  if (topic !== undefined) return { topic, others: [] };

  const ranked = rankEntries(words, entries);
  // A code is printed only by its name.
  const titled = ranked.filter(({ name, isTitled }) => isTitled && name.includes('/'));
  const beginning = toBeginning(words[0] ?? '');
  // A word in the middle of a title can be about something else, such as that of "No webhook".
  const printed = titled.find(({ title }) => titled.length === 1 || title.startsWith(beginning));
  if (printed !== undefined) return { topic: printed.name, others: titled.map(({ name }) => name) };
  if (ranked.length > 0) return { others: [...new Set(ranked.map(({ name }) => name))].slice(0, MAX_NEAREST) };
  throw new CliError(`unknown topic ${JSON.stringify(given)}`, EXIT_CODE.usage, {
    advice: advise('list all topics', shell`machineconfig-guard explain`),
  });
}

/**
 * The entries that have any of the words, the best first. A word in the title counts more, and a word that many
 * entries have counts less.
 */
function rankEntries(words: readonly string[], entries: readonly Entry[]) {
  const compared = entries
    .filter(({ section }) => !isAlert(section) || !section.includes('/'))
    .map(({ topics: [name = ''], own }) => {
      const titleWords = listWords(name.replace(/^\w+\//, ''));
      const title = ` ${titleWords.join(' ')} ${titleWords.join('')} `;
      const isTitled = words.every((word) => title.includes(toBeginning(word)));
      // A name such as HyperShift is a word, too.
      const text = `${title}${splitWords(`${own} ${own.toLowerCase()}`).join(' ')} `;
      return { name, title, isTitled, text, score: 0 };
    });
  for (const part of words.flatMap((word) => [toBeginning(word), ` ${word} `])) {
    const found = compared.filter(({ text }) => text.includes(part));
    for (const entry of found) entry.score += (entry.title.includes(part) ? TITLE_WEIGHT : 1) / found.length;
  }
  return compared.filter(({ score }) => score > 0).toSorted((one, other) => other.score - one.score);
}

/** As it stands in the text of a title. */
function toBeginning(word: string): string {
  return ` ${word.slice(0, Math.max(MIN_BEGINNING, word.length - MAX_ENDING))}`;
}

/** The words that say something about a topic, or else all. */
function listWords(text: string): readonly string[] {
  const words = splitWords(text);
  const telling = words.filter((word) => !COMMON_WORDS.has(word));
  return telling.length > 0 ? telling : words;
}

function splitWords(text: string): readonly string[] {
  const words = text.replaceAll('```console', '').match(WORD) ?? [];
  return words.map((word) => word.toLowerCase());
}

/**
 * The section whose heading quotes a part of a message, in which `…` stands for anything. Of several, that with the
 * longest quote, or a section below that.
 */
function findQuote(message: string, entries: readonly Entry[]): string | undefined {
  const wanted = simplify(message);
  const quotes = entries
    .filter(({ section }) => section.startsWith('troubleshooting/'))
    .flatMap(({ section, meaning, text }) =>
      Array.from(meaning.matchAll(QUOTE), ([, quote = '']) => ({
        section,
        text,
        parts: quote.split('…').map(simplify),
      })),
    );
  const [longest, ...others] = quotes
    .filter(({ parts }) => new RegExp(parts.join('.*')).test(wanted))
    .toSorted((one, other) => other.parts.join('').length - one.parts.join('').length);
  const part = others.find(({ section, text }) => section !== longest?.section && longest?.text.includes(text));
  return (part ?? longest)?.section;
}

/** `MCG_INUSE` and `mcg-in-use` mean `MCG_IN_USE`. */
function simplify(name: string): string {
  return name
    .replaceAll(PLURAL_OR_GROUP, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9/]/g, '');
}

/**
 * What explains the topic of the given name, and the others and those that its links lead to, each with its meaning.
 * Without their commands: one that stands away from its explanation can be wrong for the reader.
 * @throws like {@link findTopics}
 */
function formatTopic(given: string, entries: readonly Entry[], aliases: Readonly<Record<string, string>>): string {
  const { topic = '', others: more } = findTopics(given, entries, aliases);
  const own = entries.filter(({ topics }) => topics.includes(topic));
  const others = new Set([...more, ...own.flatMap((entry) => [entry.section, ...listLinks(entry)])]);
  others.delete(topic);
  const body = own.map(({ text, section }) => formatMarkdown(text, section)).join('\n');
  if (others.size === 0) return body;
  const linked = [...others].flatMap((other) => entries.find(({ topics }) => topics.includes(other)) ?? []);
  const found = body || `No topic has the name ${JSON.stringify(given)}.`;
  return `${found}\n\nSee also: machineconfig-guard explain TOPIC\n${formatTopics(linked)}`;
}

/** An item of a list explains itself in its text. */
function formatTopics(entries: readonly Entry[]): string {
  const lines = entries.map(({ topics, section, meaning, text }) =>
    formatMarkdown(topics.includes(section) ? `- ${section}: ${meaning}` : text.replace(/^(?!- )/, '- '), section),
  );
  return lines.join('\n');
}

/** The topics that the links of a text lead to. */
function listLinks({ section, text }: Entry): readonly string[] {
  return [...text.matchAll(LINK)].flatMap(([, , target = '']) => toTopic(section, target) ?? []);
}

/** Markdown for a terminal, which has no links: wraps the prose, omits prompts, and names topics instead of targets. */
function formatMarkdown(markdown: string, section: string): string {
  const { width } = createFormat();
  return markdown
    .replaceAll(LINK, (link, text: string, target: string) => {
      const topic = toTopic(section, target);
      return topic === undefined ? link : `${text}${topic === text ? '' : ` (${topic})`}`;
    })
    .replaceAll(BLOCK, (block, label: string, prose?: string) =>
      prose === undefined ? block.replaceAll(PROMPT, '') : wrapBeside(label, prose, width),
    )
    .trimEnd();
}

function toSectionTopic(page: string, anchor: string): string {
  return page === 'codes' ? anchor.toUpperCase() : `${page}/${anchor}`;
}

function toFile(topic: string): string {
  const [name = ''] = topic.split('/');
  if (name.startsWith('MCG_')) return 'docs/codes.md';
  if (isAlert(name)) return `docs/runbooks/${name}.md`;
  if (name === 'README') return 'README.md';
  return name === 'fleet' ? 'docs/fleet/README.md' : `docs/${name}.md`;
}

function isAlert(topic: string): boolean {
  return topic.startsWith('Machine');
}

/** Undefined for a target outside of the pages. */
function toTopic(section: string, target: string): string | undefined {
  const [file, anchor] = target.split('#');
  const page = path.basename((file || toFile(section)).replace('fleet/README', 'fleet'), '.md');
  if (isAlert(page)) return page;
  if (!PAGES.includes(page)) return undefined;
  return anchor === undefined ? page : toSectionTopic(page, anchor);
}

function toAnchor(title: string): string {
  return title.toLowerCase().replaceAll(/[^\w-]/g, (character) => (character === ' ' ? '-' : ''));
}

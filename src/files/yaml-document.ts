import { Composer, type CST, type Document, isAlias, isScalar, isSeq, Lexer, LineCounter, Parser } from 'yaml';
import type { ParsedNode, Scalar, YAMLMap, YAMLSeq } from 'yaml';
import { FileError } from './file-error.ts';
import { resolvePlainScalar } from './plain-scalar.ts';

/** How many values several texts together may have, such as the files of a directory. */
export interface NodeBudget {
  readonly max: number;
  nodesLeft: number;
}

/** Lexical tokens, and nodes of aliases. A rendered config of 3 MiB has about 100,000. */
const MAX_NODES_OF_FILE = 500_000;
/** 2,500 manifests have about 500,000. */
export const MAX_NODES_OF_DIRECTORY = 2_000_000;

export function createNodeBudget(max = MAX_NODES_OF_FILE): NodeBudget {
  return { max, nodesLeft: max };
}

export interface YamlDocument {
  /** As JSON could contain it. Null if there is no document. */
  readonly value: unknown;
  /** The keys that a mapping has twice, with their lines. The last one counts. */
  readonly duplicates: readonly { readonly key: string; readonly line: number }[];
  /** Whether another document or other text follows. */
  readonly hasMore: boolean;
  /** The line of a key or an item, by the object or the array in the value. The first one if it is unknown. */
  readonly findLine: (collection: object, key: string | number) => number;
}

/** A text that Go does not read as YAML. */
export class YamlError extends Error {
  override readonly name = 'YamlError';
  readonly line: number;

  constructor(problem: string, line: number) {
    super(problem);
    this.line = line;
  }
}

/** V8 ends the process if it compiles a regular expression at the end of its stack. */
const MAX_NESTING = 250;
/** What the reader of yaml.v2 rejects. */
const CONTROL_CHARACTER = /[^\t\n\r -~\u0085\u00A0-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u;
const LINE_BREAK = /\r\n?|[\u0085\u2028\u2029]/g;
const ONLY_COMMENTS = /^(?:\.\.\.)?(?:\s|#.*)*$/;
const INDENTED_BY_TAB = /^(?: |[-?](?=[ \t]))*\t/gm;
/** Only JSON has them. */
const JSON_ESCAPE = /\\(?:(\/|u[dD][89A-Fa-f])|[^])/g;
const RESOLVED_TAG = /:(?:bool|int|float|null)$/;

/**
 * Parses the first document as github.com/ghodss/yaml over gopkg.in/yaml.v2 does. The library reads YAML. This module
 * adds the rules of Go that matter for manifests (docs/internals/decisions/0012-check-manifests.md).
 * @param source for messages
 * @param firstLine of the text, in lines of the source
 * @throws YamlError if Go does not accept the text, FileError if there are too many nodes
 */
export function parseYaml(text: string, source: string, budget = createNodeBudget(), firstLine = 1): YamlDocument {
  const position = text.search(CONTROL_CHARACTER);
  if (position >= 0)
    throw new YamlError('a control character', firstLine + text.slice(0, position).split('\n').length - 1);
  return new YamlReader(text.replace(/^\uFEFF/, '').replaceAll(LINE_BREAK, '\n'), source, budget, firstLine).read();
}

class YamlReader {
  readonly #body: string;
  readonly #source: string;
  readonly #budget: NodeBudget;
  readonly #firstLine: number;
  readonly #lines = new LineCounter();
  readonly #duplicates: { key: string; line: number }[] = [];
  /** With their sizes. Undefined for a node that is not complete, in which an alias must not stand for it. */
  readonly #anchors = new Map<string, { readonly value: unknown; readonly size: number } | undefined>();
  readonly #positions = new Map<object, Map<string, number>>();
  /** Where lines can begin with tabs, in their order: texts and flow collections. */
  readonly #ranges: (readonly [start: number, end: number])[] = [];
  #size = 0;

  constructor(body: string, source: string, budget: NodeBudget, firstLine: number) {
    this.#body = body;
    this.#source = source;
    this.#budget = budget;
    this.#firstLine = firstLine;
    this.#lines.addNewLine(0);
  }

  read(): YamlDocument {
    const document = this.#compose();
    const value = this.#convert(document?.contents ?? null);
    const end = document?.range[1] ?? this.#body.length;
    const hasMore = !ONLY_COMMENTS.test(this.#body.slice(end));
    this.#checkTabs(hasMore ? end : this.#body.length);
    const findLine: YamlDocument['findLine'] = (collection, key) =>
      this.#findLine(this.#positions.get(collection)?.get(String(key)) ?? 0);
    return { value, hasMore, duplicates: this.#duplicates, findLine };
  }

  #compose(): Document.Parsed | undefined {
    const parser = new Parser(this.#lines.addNewLine);
    // The check for equal keys of the library is quadratic. A warning would print a part of the text.
    const options = { schema: 'failsafe', resolveKnownTags: false, uniqueKeys: false, logLevel: 'silent' } as const;
    const composer = new Composer(options);
    let isComplete = false;
    const compose = (token: CST.Token): void => {
      if (token.type === 'directive' || token.type === 'byte-order-mark')
        this.#fail(`a ${token.type.replaceAll('-', ' ')}`, token.offset);
      if (isComplete && token.type !== 'error') return;
      void Array.from(composer.next(token));
      isComplete ||= token.type === 'document';
    };
    for (const lexeme of new Lexer().lex(this.#body)) {
      this.#count(1);
      if (parser.stack.length > MAX_NESTING) throw new FileError(`${this.#source} is nested too deeply`);
      for (const token of parser.next(lexeme)) compose(token);
      if (isComplete) break;
    }
    if (!isComplete) for (const token of parser.end()) compose(token);
    const [document] = composer.end() as Iterable<Document.Parsed>;
    const [error] = document?.errors ?? [];
    if (error === undefined) return document;
    // The rest of a message can contain a part of the text.
    const [problem = ''] = error.message.split(/(?<=\w): /, 1);
    const position = Math.min(error.pos[0], this.#body.trimEnd().length);
    return this.#fail(problem.charAt(0).toLowerCase() + problem.slice(1), position);
  }

  #count(nodes: number): void {
    this.#budget.nodesLeft -= nodes;
    if (this.#budget.nodesLeft >= 0) return;
    throw new FileError(`${this.#source} and the files before it have more than ${this.#budget.max} values`);
  }

  #findLine(position: number): number {
    return this.#lines.linePos(position).line + this.#firstLine - 1;
  }

  #fail(problem: string, position: number): never {
    const { line } = this.#lines.linePos(position);
    const isTemplate = this.#body.split('\n', line).at(-1)?.includes('{{') ?? false;
    throw new YamlError(isTemplate ? 'a template, not YAML' : problem, this.#findLine(position));
  }

  #convert(node: ParsedNode | null): unknown {
    this.#size += 1;
    if (node === null) return null;
    if (isAlias(node)) {
      const target = this.#anchors.get(node.source);
      if (target === undefined) this.#fail('an alias for nothing, or for what contains it', node.range[0]);
      this.#count(target.size);
      this.#size += target.size;
      return target.value;
    }
    const { anchor } = node;
    if (anchor !== undefined) this.#anchors.set(anchor, undefined);
    const start = this.#size;
    const value = isScalar(node) ? this.#convertScalar(node) : this.#convertCollection(node);
    if (anchor !== undefined) this.#anchors.set(anchor, { value, size: this.#size - start + 1 });
    return value;
  }

  #convertScalar({ value, type = 'PLAIN', tag = '', range: [start, end] }: Scalar.Parsed): unknown {
    const raw = this.#body.slice(start, end);
    let text = typeof value === 'string' ? value : '';
    if (type !== 'PLAIN') this.#ranges.push([start, end]);
    if (type === 'QUOTE_DOUBLE') {
      for (const { 1: escape, index } of raw.matchAll(JSON_ESCAPE)) {
        if (escape !== undefined) this.#fail('an escape that only JSON has', start + index);
      }
    }
    // The library ends the last line with a line feed.
    if (type.startsWith('BLOCK') && end === this.#body.length && !raw.endsWith('\n')) text = text.replace(/\n$/, '');
    const isResolved = tag === '' ? type === 'PLAIN' : RESOLVED_TAG.test(tag);
    const resolved = isResolved ? resolvePlainScalar(text) : text;
    // JSON has no infinite number.
    if (typeof resolved === 'number' && !Number.isFinite(resolved)) this.#fail('an invalid number', start);
    return resolved;
  }

  #convertCollection(node: YAMLMap.Parsed | YAMLSeq.Parsed): object {
    const { flow = false, range } = node;
    if (flow) this.#ranges.push([range[0], range[1]]);
    const positions = new Map<string, number>();
    const convertItem = (item: ParsedNode, index: number): unknown => {
      positions.set(String(index), item.range[0]);
      return this.#convert(item);
    };
    const value = isSeq(node) ? node.items.map(convertItem) : this.#convertMapping(node, positions);
    this.#positions.set(value, positions);
    return value;
  }

  /** Its keys are own properties, whatever their names are. */
  #convertMapping({ items }: YAMLMap.Parsed, positions: Map<string, number>): object {
    const mapping = new Map<string, unknown>();
    const own = new Set<string>();
    const set = (name: string, value: unknown, position: number): void => {
      mapping.set(name, value);
      positions.set(name, position);
    };
    for (const { key, value: node } of items) {
      const [start] = key.range;
      const name = this.#convert(key);
      const value = this.#convert(node);
      if (name === '<<' && isScalar(key) && key.type === 'PLAIN') {
        for (const merged of isSeq(node) ? (value as unknown[]).toReversed() : [value]) {
          if (typeof merged !== 'object' || merged === null || Array.isArray(merged))
            this.#fail('a merge of what is no mapping', start);
          for (const [mergedName, item] of Object.entries(merged)) set(mergedName, item, start);
        }
        continue;
      }
      const text = isScalarValue(name) ? String(name) : this.#fail('a key that is no text', start);
      // A merge can set a key, too.
      if (own.has(text)) this.#duplicates.push({ key: text, line: this.#findLine(start) });
      own.add(text);
      set(text, value, start);
    }
    return Object.fromEntries(mapping);
  }

  /** Before a key or a value, yaml.v2 accepts only spaces. */
  #checkTabs(end: number): void {
    let index = 0;
    for (const { 0: indentation, index: start } of this.#body.slice(0, end).matchAll(INDENTED_BY_TAB)) {
      const tab = start + indentation.length - 1;
      while (index < this.#ranges.length && (this.#ranges[index]?.[1] ?? 0) <= tab) index += 1;
      const [rangeStart = Number.POSITIVE_INFINITY] = this.#ranges[index] ?? [];
      if (tab < rangeStart) this.#fail('a tab as indentation', tab);
    }
  }
}

function isScalarValue(value: unknown): value is string | number | boolean {
  return ['string', 'number', 'boolean'].includes(typeof value);
}

import { resolvePlainScalar } from './plain-scalar.ts';
import { FileError } from './file-error.ts';
import { YamlScanner } from './yaml-scanner.ts';
import { YamlError, type YamlToken } from './yaml-syntax.ts';

/** Of several texts together, such as the files of a directory. */
export type NodeBudget = { nodesLeft: number };

/** The first document of a YAML stream. */
export interface YamlDocument {
  /** As JSON could contain it. Null if there is no document. */
  readonly value: unknown;
  /** The keys that a mapping has twice, with their lines. The last one counts. */
  readonly duplicates: readonly { readonly key: string; readonly line: number }[];
  /** Whether another document or other text follows. */
  readonly hasMore: boolean;
  /** The line of a key or an item, by the object or the array in the value. */
  readonly findLine: (collection: object, key: string | number) => number | undefined;
}

interface Node {
  readonly value: unknown;
  /** The nodes in it, where each alias counts as what it stands for. */
  readonly size: number;
  readonly isMerge: boolean;
  readonly isAlias?: boolean;
}

type Item = readonly [node: Node, line: number];
type Mapping = Map<string, readonly [value: unknown, line: number]>;

/** Nodes of one text. A rendered config of 3 MiB has about 50,000. */
const MAX_NODES = 250_000;
const MAX_NESTING = 250;
/** What the reader of yaml.v2 rejects (readerc.go). */
const CONTROL_CHARACTER = /^\uFEFF{2}|[^\t\n\r -~\u0085\u00A0-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u;
const BASE64 = /^(?:[A-Za-z\d+/\r\n]{4})*(?:[A-Za-z\d+/]{2}==|[A-Za-z\d+/]{3}=)?[\r\n]*$/;
/** yaml.v2 (decode.go) limits the share of nodes that come from aliases. */
const ALIASES = { minCount: 100, minNodes: 1000, fewNodes: 400_000, manyNodes: 4_000_000, maxShare: 0.99, loss: 0.89 };
const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  '!!bool': (value) => typeof value === 'boolean',
  '!!int': Number.isInteger,
  '!!float': (value) => typeof value === 'number',
  '!!null': (value) => value === null,
  '!!timestamp': (value) => typeof value === 'string' && /^\d{4}-/.test(value),
};

/**
 * Parses the first document as github.com/ghodss/yaml over gopkg.in/yaml.v2 does, in linear time.
 *
 * @param source for messages
 * @throws YamlError if Go does not accept the text, FileError if there are too many nodes
 */
export function parseYaml(text: string, source: string, budget: NodeBudget = { nodesLeft: MAX_NODES }): YamlDocument {
  // After two byte order marks, yaml.v2 skips the first character of each line.
  const position = text.search(CONTROL_CHARACTER);
  if (position >= 0) throw new YamlError('a control character', text.slice(0, position).split('\n').length);
  // Only the other two line breaks stay what they are in a value.
  const composer = new Composer(text.replace(/^\uFEFF/, '').replaceAll(/\r\n|[\r\u0085]/g, '\n'), source, budget);
  return composer.composeDocument();
}

class Composer {
  readonly #scanner: YamlScanner;
  readonly #source: string;
  readonly #budget: NodeBudget;
  /** Undefined for a node that is not complete, in which an alias must not stand for it. */
  readonly #anchors = new Map<string, Node | undefined>();
  readonly #duplicates: { key: string; line: number }[] = [];
  readonly #collections = new Map<object, Mapping | readonly Item[]>();
  #nodeCount = 0;
  #aliasedCount = 0;

  constructor(text: string, source: string, budget: NodeBudget) {
    this.#scanner = new YamlScanner(text);
    this.#source = source;
    this.#budget = budget;
  }

  composeDocument(): YamlDocument {
    const isExplicit = this.#skip('document start');
    const isEmpty = this.#is('end') || (isExplicit && this.#is('document start', 'document end', 'directive'));
    const { value } = isEmpty ? this.#composeEmpty() : this.#composeNode(true);
    const hasMore = this.#is('document end') ? this.#hasText() : !this.#is('end');
    const findLine: YamlDocument['findLine'] = (collection, key) => {
      const parts = this.#collections.get(collection);
      return Array.isArray(parts)
        ? (parts as readonly Item[])[Number(key)]?.[1]
        : (parts as Mapping)?.get(String(key))?.[1];
    };
    return { value, duplicates: this.#duplicates, findLine, hasMore };
  }

  /** Go does not read what follows the end of a document. */
  #hasText(): boolean {
    try {
      this.#scanner.take();
      return !this.#is('end');
    } catch {
      return true;
    }
  }

  #is(...types: readonly YamlToken['type'][]): boolean {
    return types.includes(this.#scanner.peek().type);
  }

  #skip(type: YamlToken['type']): boolean {
    return this.#is(type) && this.#scanner.take() !== undefined;
  }

  #rejectToken(problem: string): never {
    const { type, line } = this.#scanner.peek();
    return this.#fail(problem, type === 'end' ? this.#scanner.lastLine : line);
  }

  #fail(problem: string, line = this.#scanner.lastLine): never {
    throw new YamlError(problem, line);
  }

  #count(nodes: number, aliased = 0): void {
    this.#nodeCount += nodes;
    this.#aliasedCount += aliased;
    this.#budget.nodesLeft -= nodes;
    if (this.#budget.nodesLeft < 0) throw new FileError(`${this.#source} and the files before it have too many values`);
    if (this.#aliasedCount <= ALIASES.minCount || this.#nodeCount <= ALIASES.minNodes) return;
    const scale = (this.#nodeCount - ALIASES.fewNodes) / (ALIASES.manyNodes - ALIASES.fewNodes);
    const maxShare = ALIASES.maxShare - ALIASES.loss * Math.min(Math.max(scale, 0), 1);
    if (this.#aliasedCount / this.#nodeCount > maxShare) this.#fail('too many aliases');
  }

  /** @param isInMapping whether a block sequence can begin without indentation */
  #composeNode(canBeBlock: boolean, isInMapping = false): Node {
    if (this.#scanner.depth > MAX_NESTING) throw new FileError(`${this.#source} is nested too deeply`);
    this.#count(1);
    if (this.#is('alias')) return this.#resolveAlias(this.#scanner.take().text);
    const properties = new Map<string, string>();
    while (this.#is('anchor', 'tag') && !properties.has(this.#scanner.peek().type)) {
      const { type, text } = this.#scanner.take();
      properties.set(type, text);
    }
    const [anchor, tag = ''] = [properties.get('anchor'), properties.get('tag')];
    if (/^![-\w]+!/.test(tag)) this.#fail('an undefined tag');
    if (anchor !== undefined) this.#anchors.set(anchor, undefined);
    const start = this.#nodeCount;
    const node = this.#composeContent(canBeBlock, isInMapping, tag) ?? this.#composeMissing(properties);
    if (anchor !== undefined) this.#anchors.set(anchor, { ...node, size: this.#nodeCount - start + 1 });
    return node;
  }

  #composeContent(canBeBlock: boolean, isInMapping: boolean, tag: string): Node | undefined {
    const { type, text } = this.#scanner.peek();
    if (type === '-' && isInMapping) return this.#composeSequence(() => !this.#is('-'));
    const isBlock = canBeBlock && (type === 'block sequence' || type === 'block mapping');
    if (!isBlock && !['plain', 'text', '[', '{'].includes(type)) return undefined;
    this.#scanner.take();
    if (type === '[') return this.#composeFlowSequence();
    if (type === '{') return this.#composeFlowMapping();
    if (type === 'block mapping') return this.#composeMapping();
    if (type !== 'block sequence') return this.#createScalar(text, tag, type === 'plain');
    const node = this.#composeSequence(() => this.#is('block end'));
    this.#scanner.take();
    return node;
  }

  #composeMissing(properties: ReadonlyMap<string, string>): Node {
    return properties.size > 0
      ? this.#createScalar('', properties.get('tag') ?? '', true)
      : this.#rejectToken('no value');
  }

  #resolveAlias(name: string): Node {
    const node = this.#anchors.get(name) ?? this.#fail('an alias for nothing, or for what contains it');
    this.#count(node.size, node.size);
    return { ...node, isAlias: true };
  }

  #createScalar(text: string, longTag: string, isPlain: boolean): Node {
    const tag = longTag.replace(/^!<(.*)>$/, '$1').replace(/^tag:yaml\.org,2002:/, '!!');
    const isMerge = text === '<<' && ((isPlain && tag === '') || tag === '!' || tag === '!!merge');
    const isType = tag === '' ? (): boolean => true : TYPES[tag];
    const isResolved = tag === '' ? isPlain : isType !== undefined;
    const value = isResolved ? resolvePlainScalar(text) : text;
    // JSON has no infinite number.
    const isValid = isType?.(value) ?? (tag !== '!!binary' || BASE64.test(text));
    if (!isValid || value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY || Number.isNaN(value)) {
      this.#fail(`an invalid ${tag || 'number'}`);
    }
    return { value: tag === '!!binary' ? Buffer.from(text, 'base64').toString() : value, size: 1, isMerge };
  }

  #composeEmpty(): Node {
    this.#count(1);
    return this.#createScalar('', '', true);
  }

  #composeSequence(isAtEnd: () => boolean): Node {
    const items: Item[] = [];
    while (!isAtEnd()) {
      if (!this.#is('-')) this.#rejectToken('no "-"');
      const { line } = this.#scanner.take();
      const isEmpty = this.#is('-', 'block end', '?', ':');
      items.push([isEmpty ? this.#composeEmpty() : this.#composeNode(true), line]);
    }
    return this.#createSequence(items);
  }

  #composeMapping(): Node {
    const mapping: Mapping = new Map();
    while (!this.#is('block end')) {
      if (!this.#is('?', ':')) this.#rejectToken('no key');
      const { line } = this.#scanner.peek();
      const key = this.#composeBlockPart('?');
      this.#addPair(mapping, key, this.#composeBlockPart(':'), line);
    }
    this.#scanner.take();
    return this.#createMapping(mapping);
  }

  #composeBlockPart(indicator: '?' | ':'): Node {
    const isEmpty = !this.#skip(indicator) || this.#is('?', ':', 'block end');
    return isEmpty ? this.#composeEmpty() : this.#composeNode(true, true);
  }

  /** Calls `compose` for each entry, with its line. */
  #composeFlow(close: ']' | '}', compose: (line: number) => void): void {
    for (let isFirst = true; !this.#is(close); isFirst = false) {
      if (!isFirst && !this.#skip(',')) this.#rejectToken(`no "," or "${close}"`);
      if (!this.#is(close)) compose(this.#scanner.peek().line);
    }
    this.#scanner.take();
  }

  #composeFlowSequence(): Node {
    const items: Item[] = [];
    this.#composeFlow(']', (line) => {
      const pair: Mapping = new Map();
      if (this.#is('?')) {
        this.#count(1);
        this.#composeFlowPair(pair, ']', line);
      }
      items.push([pair.size > 0 ? this.#createMapping(pair) : this.#composeNode(false), line]);
    });
    return this.#createSequence(items);
  }

  #composeFlowMapping(): Node {
    const mapping: Mapping = new Map();
    this.#composeFlow('}', (line) => this.#composeFlowPair(mapping, '}', line));
    return this.#createMapping(mapping);
  }

  #composeFlowPair(mapping: Mapping, close: ']' | '}', line: number): void {
    const isPair = this.#skip('?');
    const key = isPair && this.#is(':', ',', close) ? this.#composeEmpty() : this.#composeNode(false);
    const hasValue = isPair && this.#skip(':') && !this.#is(',', close);
    this.#addPair(mapping, key, hasValue ? this.#composeNode(false) : this.#composeEmpty(), line);
  }

  #createSequence(items: readonly Item[]): Node {
    const value = items.map(([node]) => node.value);
    this.#collections.set(value, items);
    return { value, size: 0, isMerge: false };
  }

  /** Its keys are own properties, whatever their names are. */
  #createMapping(mapping: Mapping): Node {
    const value = Object.fromEntries(Array.from(mapping, ([key, [item]]) => [key, item])) as object;
    this.#collections.set(value, mapping);
    return { value, size: 0, isMerge: false };
  }

  #addPair(mapping: Mapping, key: Node, { value, isAlias }: Node, line: number): void {
    if (key.isMerge) {
      for (const merged of Array.isArray(value) && !isAlias ? value.toReversed() : [value]) {
        if (!isRecord(merged)) this.#fail('a merge of what is no mapping', line);
        for (const [name, item] of Object.entries(merged)) mapping.set(name, [item, line]);
      }
      return;
    }
    if (!isScalar(key.value)) this.#fail('a key that is no text', line);
    const name = String(key.value);
    if (mapping.has(name)) this.#duplicates.push({ key: name, line });
    mapping.set(name, [value, line]);
  }
}

function isRecord(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

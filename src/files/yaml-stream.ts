import { isUtf8 } from 'node:buffer';
import { isDeepStrictEqual } from 'node:util';
import { FileError } from './file-error.ts';
import { createNodeBudget, type NodeBudget, parseYaml, type YamlDocument, YamlError } from './yaml-document.ts';

/** One document, as a program of the bootstrap host reads it. */
export interface StreamDocument {
  readonly line: number;
  /** With the `---` before it. */
  readonly text: string;
  /** Null if it is empty, undefined if it does not parse. */
  readonly value: unknown;
  /** Why it does not parse, with the line in the file. */
  readonly error?: YamlError;
  readonly duplicates: YamlDocument['duplicates'];
  /** Whether text follows that no program reads. */
  readonly hasMore?: boolean;
  /** The line of a key or an item in the file. JSON has only that of the document. */
  readonly findLine: (collection: object, key: string | number) => number;
}

export interface YamlStream {
  /** What the bootstrap of the machine-config-operator reads (apimachinery, pkg/util/yaml/decoder.go). */
  readonly documents: readonly StreamDocument[];
  /** What cluster-bootstrap reads (library-go, pkg/assets/create/creater.go). */
  readonly inCluster: StreamDocument;
  /** Whether the bootstrap reads JSON. */
  readonly isJson: boolean;
}

const MAX_DOCUMENTS = 1_000;
/** After a byte order mark, `{` begins YAML. */
const JSON_START = /^(?:(?!\uFEFF)[\s\u0085])*\{/;
const BEFORE_SEPARATOR = /(?<=^|\n)(?=---)/;
/** Only a comment may follow a separator. */
const SEPARATOR = /^---[^\S\n\uFEFF]*(?:#[^\n]*)?(?:\n|$)/;

/**
 * @param firstLine of the content, in lines of the file
 * @throws FileError if there are too many documents or values
 */
export function parseStream(content: Buffer, source: string, budget = createNodeBudget(), firstLine = 1): YamlStream {
  const text = content.toString();
  // Go also reads UTF-16, but the tools that write manifests write UTF-8.
  if (!isUtf8(content)) {
    const unreadable = createUnreadable(text, firstLine, new YamlError('not UTF-8', firstLine));
    return { documents: [unreadable], inCluster: unreadable, isJson: false };
  }
  const inCluster = readYaml(text, text, firstLine, source, budget);
  if (JSON_START.test(text)) {
    const value = parseJson(text);
    // YAML knows the lines of its fields.
    const isSame = isDeepStrictEqual(value, inCluster.value);
    const json = isSame ? inCluster : { line: firstLine, text, value, findLine: () => firstLine };
    // Go also reads several objects one after another, but the tools that write manifests write one.
    const error = value === undefined ? { error: new YamlError('not one object of JSON', firstLine) } : {};
    return { documents: [{ ...json, duplicates: [], ...error }], inCluster, isJson: true };
  }
  const texts = text.split(BEFORE_SEPARATOR, MAX_DOCUMENTS + 1);
  if (texts.length > MAX_DOCUMENTS) throw new FileError(`${source} has more than ${MAX_DOCUMENTS} documents`);
  let line = firstLine;
  let isEmpty = true;
  const documents = texts.map((document): StreamDocument => {
    const start = line;
    line += document.split('\n').length - 1;
    const [separator] = SEPARATOR.exec(document) ?? [''];
    if (document.startsWith('---') && separator === '') {
      return createUnreadable(document, start, new YamlError('text after "---"', start));
    }
    // The reader drops the separator that ends a document, and ends each line with a line feed.
    const dropped = isEmpty ? 0 : separator.length;
    const body = document
      .slice(dropped)
      .replaceAll('\r\n', '\n')
      .replace(/(?<=[^\n])$/, '\n');
    isEmpty = body === '';
    if (body === text) return inCluster;
    const yaml = readYaml(body, document, dropped === 0 ? start : start + 1, source, budget);
    return Object.assign(yaml, { line: start });
  });
  return { documents, inCluster, isJson: false };
}

/** The path of the first value that the bootstrap host and cluster-bootstrap read differently. */
export function findDifferentReading({ documents, inCluster, isJson }: YamlStream): string | undefined {
  const first = documents.find(({ value }) => value !== null)?.value;
  if (first === undefined || !isCollection(inCluster.value)) return undefined;
  return isJson ? inCluster.duplicates[0]?.key : findDifference(first, inCluster.value);
}

function findDifference(first: unknown, second: unknown, path: readonly string[] = []): string | undefined {
  if (isDeepStrictEqual(first, second)) return undefined;
  if (!isCollection(first) || !isCollection(second)) return path.join('.') || 'the object';
  const key = Object.keys({ ...second, ...first }).find((each) => !isDeepStrictEqual(first[each], second[each])) ?? '';
  return findDifference(first[key], second[key], [...path, key]);
}

function isCollection(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function readYaml(body: string, text: string, line: number, source: string, budget: NodeBudget): StreamDocument {
  try {
    return { ...parseYaml(body, source, budget, line), line, text };
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    return createUnreadable(text, line, error);
  }
}

function createUnreadable(text: string, line: number, error: YamlError): StreamDocument {
  return { line, text, value: undefined, error, duplicates: [], findLine: () => line };
}

/** Undefined if the text is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

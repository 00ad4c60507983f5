import { isUtf8 } from 'node:buffer';
import { FileError } from '../../../files/file-error.ts';
import { type NodeBudget, parseYaml, type YamlDocument } from '../../../files/yaml-document.ts';
import { YamlError } from '../../../files/yaml-syntax.ts';

/** One document, as a program of the bootstrap host reads it. */
export interface ManifestDocument {
  /** Of its beginning. */
  readonly line: number;
  /** With the `---` before it. */
  readonly text: string;
  /** Null if it is empty, undefined if it does not parse. */
  readonly value: unknown;
  /** Why it does not parse, with the line in the file. */
  readonly error?: YamlError;
  readonly yaml?: YamlDocument;
}

export interface Manifest {
  /** What the bootstrap of the machine-config-operator reads (apimachinery, pkg/util/yaml/decoder.go). */
  readonly documents: readonly ManifestDocument[];
  /** What cluster-bootstrap reads (library-go, pkg/assets/create/creater.go). */
  readonly inCluster: ManifestDocument;
}

const MAX_DOCUMENTS = 1_000;
/** After a byte order mark, `{` begins YAML. */
const JSON_START = /^(?:(?!\uFEFF)[\s\u0085])*\{/;
const JSON_PART = /"(?:[^"\\]|\\.)*"|[{}[\]]/gs;
const BEFORE_SEPARATOR = /(?<=^|\n)(?=---)/;
/** Only a comment may follow a separator. */
const SEPARATOR = /^---[^\S\n\uFEFF]*(?:#[^\n]*)?(?:\n|$)/;
/** Only in UTF-16BE, the bootstrap reads lines as they are (it splits at the byte of the line feed). */
const UTF16_LINES = /^\uFEFF(?:.*\n)*$/s;

/** @throws FileError if there are too many documents or values */
export function parseManifest(content: Buffer, source: string, budget: NodeBudget): Manifest {
  const isUtf16 = content[0] === 0xfe && content[1] === 0xff && content.length % 2 === 0;
  const text = isUtf16 ? Buffer.from(content).swap16().toString('utf16le') : content.toString();
  const inCluster = readYaml(text, text, 1, source, budget);
  if (isUtf16 ? !UTF16_LINES.test(text) : !isUtf8(content)) {
    const unreadable = { line: 1, text, value: undefined, error: new YamlError('not UTF-8', 1) };
    return { documents: [unreadable], inCluster: unreadable };
  }
  if (isUtf16) return { documents: [inCluster], inCluster };
  if (JSON_START.test(text)) return { documents: readJsonStream(text, source), inCluster };
  const texts = text.split(BEFORE_SEPARATOR, MAX_DOCUMENTS + 1);
  checkCount(texts, source);
  let line = 1;
  let isEmpty = true;
  const documents = texts.map((document): ManifestDocument => {
    const start = line;
    line += document.split('\n').length - 1;
    const [separator] = SEPARATOR.exec(document) ?? [''];
    if (document.startsWith('---') && separator === '') {
      return { line: start, text: document, value: undefined, error: new YamlError('text after "---"', start) };
    }
    // The reader drops the separator that ends a document, and ends each line with a line feed.
    const dropped = isEmpty ? 0 : separator.length;
    const body = document
      .slice(dropped)
      .replaceAll('\r\n', '\n')
      .replace(/(?<=[^\n])$/, '\n');
    isEmpty = body === '';
    if (body === text) return inCluster;
    return readYaml(body, document, dropped === 0 ? start : start + 1, source, budget);
  });
  return { documents, inCluster };
}

/** The texts of the documents. None if one of them does not parse. Comments between them stay with the one before. */
export function splitManifest(documents: readonly ManifestDocument[]): string[] {
  const texts: string[] = [];
  let head = '';
  for (const { text, value } of documents) {
    if (value === undefined) return [];
    if (value !== null) texts.push(texts.length === 0 ? head + text : text);
    // Without its separator, an empty document at the beginning is only a comment.
    else if (texts.length === 0) head += text.replace(/^(\uFEFF?)---/, '$1');
    else texts.push(`${texts.pop()}${text}`);
  }
  return texts;
}

function readYaml(body: string, text: string, line: number, source: string, budget: NodeBudget): ManifestDocument {
  try {
    const yaml = parseYaml(body, source, budget);
    return { line, text, value: yaml.value, yaml };
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    return { line, text, value: undefined, error: new YamlError(error.message, line + error.line - 1) };
  }
}

/** Objects one after another, as Go's JSON decoder reads a stream. */
function readJsonStream(text: string, source: string): ManifestDocument[] {
  const documents: ManifestDocument[] = [];
  let [start, depth, line] = [0, 0, 1];
  const add = (end: number): void => {
    const part = text.slice(start, end);
    const value = parseJson(part);
    const error = value === undefined ? new YamlError('invalid JSON', line) : undefined;
    documents.push({ line, text: part, value, ...(error && { error }) });
    checkCount(documents, source);
    line += part.split('\n').length - 1;
    start = end;
  };
  for (const { 0: part, index } of text.matchAll(JSON_PART)) {
    depth += part === '{' || part === '[' ? 1 : part === '}' || part === ']' ? -1 : 0;
    if (depth === 0 && !part.startsWith('"')) add(index + part.length);
  }
  if (/[^ \t\r\n]/.test(text.slice(start))) add(text.length);
  return documents;
}

function checkCount({ length }: readonly unknown[], source: string): void {
  if (length > MAX_DOCUMENTS) throw new FileError(`${source} has more than ${MAX_DOCUMENTS} documents`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

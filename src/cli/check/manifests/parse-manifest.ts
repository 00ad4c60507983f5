import { isUtf8 } from 'node:buffer';
import { isCollection, visit } from 'yaml';
import { FileError } from '../../../files/file-error.ts';
import { parseYamlDocuments, type TokenBudget, toValue } from '../../../files/yaml-documents.ts';
import { resolvePlainScalar } from '../../../rendered-config/plain-scalar.ts';

/** One document, as the bootstrap of the machine-config-operator reads it. */
export interface ManifestDocument {
  /** Of its beginning, or of its error. */
  readonly line: number;
  /** With the `---` before it. */
  readonly text: string;
  /** Null if it is empty, undefined if it does not parse. */
  readonly value?: unknown;
}

const MAX_DOCUMENTS = 1_000;
/** Of one document. The largest CustomResourceDefinitions have about 70,000. */
const MAX_TOKENS = 100_000;
/** An error needs as much memory. */
const TOKENS_PER_ERROR = 10;
/** After a byte order mark, `{` begins YAML (apimachinery, pkg/util/yaml/decoder.go). */
const JSON_START = /^[^\S\uFEFF]*\{/;
const BETWEEN_JSON = /(?<=\})(?=\s*\{)/;
/** The bootstrap splits lines before it parses YAML, and then rejects a directive. */
const BEFORE_SEPARATOR = /(?<=^|\n)(?=---)/;
const INVALID_START = /^(?:%|---[^\S\n]*[^\s#])/;
/** What go-yaml rejects (yaml.v2, readerc.go). */
const CONTROL_CHARACTER = /[^\t\n\r -~\u0085\u00A0-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u;

/** @throws FileError if there are too many documents or tokens, or too many aliases */
export function parseManifest(content: Buffer, source: string, budget: TokenBudget): ManifestDocument[] {
  const text = content.toString();
  if (!isUtf8(content) || CONTROL_CHARACTER.test(text)) return [{ line: 1, text }];
  const isJson = JSON_START.test(text);
  const value = isJson ? parseJson(text) : undefined;
  if (value !== undefined) return [{ line: 1, text, value }];
  const texts = text.split(isJson ? BETWEEN_JSON : BEFORE_SEPARATOR, MAX_DOCUMENTS + 1);
  if (texts.length > MAX_DOCUMENTS) throw new FileError(`${source} has more than ${MAX_DOCUMENTS} documents`);
  let line = 1;
  return texts.map((document) => {
    const parsed = isJson ? { value: parseJson(document) } : parseYaml(document, source, budget);
    const result = { text: document, value: parsed.value, line: line + (parsed.errorLine ?? 0) };
    line += document.split('\n').length - 1;
    return result;
  });
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

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function parseYaml(text: string, source: string, budget: TokenBudget): { value?: unknown; errorLine?: number } {
  if (INVALID_START.test(text)) return {};
  const [document] = parseYamlDocuments(text, source, { maxDocuments: 1, maxTokens: MAX_TOKENS, budget });
  if (document === undefined) return { value: null };
  budget.tokensLeft -= document.document.errors.length * TOKENS_PER_ERROR;
  if (document.errorLine !== undefined) return { errorLine: document.errorLine - 1 };
  let isValid = true;
  visit(document.document, {
    // Such as `{{ .Values.name }}`.
    Pair: (_key, { key }) => void (isValid &&= !isCollection(key)),
    Scalar: (_key, node) => {
      if (node.type === 'PLAIN' && node.tag === undefined) node.value = resolvePlainScalar(String(node.value));
    },
  });
  return isValid ? { value: toValue(document, source) ?? null } : {};
}

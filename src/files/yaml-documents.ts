import { Composer, type Document, Lexer, LineCounter, Parser } from 'yaml';
import { FileError } from './file-error.ts';

/** Of several texts together, such as the files of a directory. */
export type TokenBudget = { tokensLeft: number };

export interface YamlDocument {
  readonly document: Document;
  /** Of its first line. */
  readonly line: number;
  /** Of its first error. Undefined if it is valid. */
  readonly errorLine: number | undefined;
}

/** Lexical tokens of one text. A rendered config of 3 MiB has about 100,000, and each needs about 300 bytes. */
const MAX_TOKENS = 500_000;
const MAX_ALIASES = 100;
/** V8 ends the process if it compiles a regular expression at the end of its stack. */
const MAX_NESTING = 500;

/**
 * Parses a YAML stream in linear time. It ends at `maxDocuments`, because an empty document costs 3 bytes. All scalars
 * are strings, as in the failsafe schema, and of equal keys the last one counts, as in Go.
 *
 * @param source for messages
 * @throws FileError if it has too many tokens, or is nested too deeply
 */
export function parseYamlDocuments(
  text: string,
  source: string,
  limits: { readonly maxDocuments: number; readonly maxTokens?: number; readonly budget?: TokenBudget },
): YamlDocument[] {
  const { maxDocuments, maxTokens = MAX_TOKENS, budget = { tokensLeft: maxTokens } } = limits;
  const lines = new LineCounter();
  const documents: YamlDocument[] = [];
  const add = (document: Document): void => {
    const [error] = document.errors;
    documents.push({
      document,
      line: lines.linePos(document.range?.[0] ?? 0).line,
      errorLine: error === undefined ? undefined : lines.linePos(error.pos[0]).line,
    });
  };
  lines.addNewLine(0);
  const parser = new Parser(lines.addNewLine);
  // The check for equal keys of the library is quadratic. A warning would print a part of the text.
  const composer = new Composer({ schema: 'failsafe', uniqueKeys: false, logLevel: 'silent', lineCounter: lines });
  let tokens = 0;
  try {
    for (const lexeme of new Lexer().lex(text)) {
      tokens += 1;
      budget.tokensLeft -= 1;
      if (tokens > maxTokens) throw new FileError(`${source} has more than ${maxTokens} YAML tokens`);
      if (budget.tokensLeft < 0) throw new FileError(`${source} and the files before it have too many YAML tokens`);
      if (parser.stack.length > MAX_NESTING) throw new FileError(`${source} is nested too deeply`);
      for (const token of parser.next(lexeme)) {
        for (const document of composer.next(token)) add(document);
      }
      if (documents.length >= maxDocuments) return documents.slice(0, maxDocuments);
    }
    for (const token of parser.end()) for (const document of composer.next(token)) add(document);
    for (const document of composer.end()) add(document);
  } catch (error) {
    if (error instanceof FileError) throw error;
    throw createUnreadableError(source, error);
  }
  return documents.slice(0, maxDocuments);
}

/**
 * The value of a document, as JSON could contain it.
 *
 * @throws FileError if it has too many aliases, or is nested too deeply
 */
export function toValue({ document }: YamlDocument, source: string): unknown {
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (error) {
    throw createUnreadableError(source, error);
  }
}

function createUnreadableError(source: string, cause: unknown): FileError {
  return new FileError(`${source} is not YAML that this command can read`, { cause });
}

import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';

/** A promise, the test that proves it, and a change of the code that must make this test fail. */
export interface Promised {
  readonly promise: string;
  /** `FOLDER/FILE: TITLE` in `test/`. In the title, … stands for any text. */
  readonly test: string;
  readonly broken: string;
  readonly changes: readonly Change[];
}

interface Change {
  readonly in: string;
  /** A text that the file contains once. */
  readonly from: string;
  readonly to: string;
}

export function readPromises(): readonly Promised[] {
  return parse(readFileSync(path.join(import.meta.dirname, 'promises.yaml'), 'utf8')) as readonly Promised[];
}

export function splitTest({ test }: Promised): { readonly file: string; readonly title: string } {
  const [name = '', title = ''] = test.split(/: (.*)/s);
  return { file: `test/${name}.test.ts`, title };
}

/** Matches what Vitest makes of a title. Its placeholders, such as `%s`, stand for any text, too. */
export function toPattern(title: string): string {
  const parts = title.split(/…|%[a-z]|\$[a-z.]+/i);
  return parts.map((part) => part.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`)).join('.*');
}

/**
 * Changes the files of a repository. Returns a function that restores them.
 * @throws Error if a change no longer applies
 */
export function applyChanges({ changes }: Promised, root: string): () => void {
  const originals = new Map<string, string>();
  const restore = () => originals.forEach((text, file) => writeFileSync(file, text));
  for (const { in: name, from, to } of changes) {
    const file = path.join(root, name);
    const text = readFileSync(file, 'utf8');
    const parts = text.split(from);
    if (parts.length !== 2 || from === to) {
      restore();
      throw new Error(`${name} contains ${parts.length - 1} times: ${from}`);
    }
    if (!originals.has(file)) originals.set(file, text);
    writeFileSync(file, parts.join(to));
  }
  return restore;
}

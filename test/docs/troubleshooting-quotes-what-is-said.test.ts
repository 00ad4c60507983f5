import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';

const ROOT = path.join(import.meta.dirname, '..', '..');
const PAGE = readFileSync(path.join(ROOT, 'docs', 'troubleshooting.md'), 'utf8');
const QUOTES = [...PAGE.matchAll(/^#+ `(?<text>.*)`$/gm)].map(({ groups }) => groups?.['text'] ?? '');

/** Everything that can say something: the program, the manifests, and the tests that quote an API server. */
const SAID = ['src', 'manifests', 'test/e2e', 'test/sandbox', 'test/install']
  .flatMap((folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(?:ts|yaml)$/.test(name))
      .map((name) => readFileSync(path.join(ROOT, folder, name), 'utf8')),
  )
  .map((text) => plain(text))
  .join('\n');

/** Source as it is spoken: what is inserted is an ellipsis, and lines are joined. */
function plain(text: string): string {
  return text
    .replaceAll(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, '…')
    .replaceAll(/['`]\s*\+\s*['`]/g, '')
    .replaceAll('\\"', '"')
    .replaceAll("\\'", "'");
}

test('there is something to look for', () => {
  expect(QUOTES.length).toBeGreaterThan(25);
});

test.each(QUOTES)('%s', (quote) => {
  const parts = quote
    .replaceAll(/\b\d{3}\b/g, '…')
    .split('…')
    .map((part) => part.trim());
  const telling = parts.filter((part) => /[a-z]{4}/i.test(part));
  expect(telling.length).toBeGreaterThan(0);
  for (const part of telling) expect({ part, said: SAID.includes(part) }).toEqual({ part, said: true });
});

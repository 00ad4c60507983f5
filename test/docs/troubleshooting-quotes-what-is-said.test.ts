import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';

const ROOT = path.join(import.meta.dirname, '..', '..');
const PAGE = readFileSync(path.join(ROOT, 'docs', 'troubleshooting.md'), 'utf8');
/** A heading may quote several. */
const QUOTES = [...PAGE.matchAll(/^#+ (?<heading>`.*`)$/gm)].flatMap(({ groups }) =>
  [...(groups?.['heading'] ?? '').matchAll(/`(?<text>[^`]+)`/g)].map((match) => match.groups?.['text'] ?? ''),
);

/** Everything that can say something: the program, the manifests, and the tests that quote an API server. */
const SAID = ['src', 'manifests', 'test/e2e', 'test/sandbox', 'test/inspect']
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
  expect(QUOTES.length).toBeGreaterThan(60);
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

/** What the guard warns of: each `log.warn` and `log.error`, but for the line of a decision, whose text is the message of the answer. */
const WARNINGS = readdirSync(path.join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => readFileSync(path.join(ROOT, 'src', name), 'utf8'))
  .flatMap((text) => [
    ...text.matchAll(/log\.(?:warn|error)\(\s*(?:(?:\{[^}]*\}|\w+),\s*)?(?<quote>['`])(?<said>.*?)\k<quote>/g),
  ])
  .map(({ groups }) => plain(groups?.['said'] ?? ''));

test('the code has been searched for warnings', () => {
  expect(WARNINGS.length).toBeGreaterThan(12);
});

test.each(WARNINGS)('a line of the log is in the page: %s', (warning) => {
  const first = warning.split('…').find((part) => /[a-z]{4}/i.test(part)) ?? '';
  expect({ warning, quoted: QUOTES.some((quote) => quote.includes(first.trim())) }).toEqual({ warning, quoted: true });
});

import { expect, test } from 'vitest';
import { findAll, listFiles, readFile } from './pages.ts';

/** A heading may quote several texts, in which `…` stands for anything. */
const HEADINGS = findAll(readFile('docs/troubleshooting.md'), /^#+ (`.*`)$/gm);
const QUOTES = HEADINGS.flatMap((heading) => findAll(heading, /`([^`]+)`/g));

/** The end-to-end tests quote the API server. */
const PRINTED_TEXTS = ['src', 'manifests', 'test/e2e']
  .flatMap((folder) => listFiles(folder))
  .filter((file) => /\.(?:ts|yaml)$/.test(file))
  .map((file) => toPrintedText(readFile(file)))
  .join('\n');

/** Replaces inserted values with an ellipsis, and joins strings that are split over lines. */
function toPrintedText(source: string): string {
  return source
    .replaceAll(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, '…')
    .replaceAll(/['`]\s*\+\s*['`]/g, '')
    .replaceAll(/\\(["'])/g, '$1');
}

test.each(QUOTES)('the program, a manifest or an API server prints "%s"', (quote) => {
  const parts = quote.replaceAll(/\b\d{3}\b/g, '…').split('…');
  const phrases = parts.map((part) => part.trim().replace(/:$/, '')).filter((part) => /[a-z]{4}/i.test(part));
  expect(phrases.length).toBeGreaterThan(0);
  expect(phrases.filter((phrase) => !PRINTED_TEXTS.includes(phrase))).toEqual([]);
});

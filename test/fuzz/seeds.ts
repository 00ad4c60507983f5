import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FOLDER = new URL('seeds/', import.meta.url);
/** Longer ones tell a reader nothing, and the repository keeps them for ever. */
const LONGEST = 2_048;

/** Inputs that have once reached what none before them did, one a line, in base64. None where there is no such file. */
export function keptSeeds(target: string): readonly Buffer[] {
  let text: string;
  try {
    text = readFileSync(fileFor(target), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => Buffer.from(line, 'base64'));
}

/** Adds these to the kept ones. Answers how many were new and short enough. */
export function keepSeeds(target: string, found: readonly Buffer[]): number {
  const kept = new Set(keptSeeds(target).map((seed) => seed.toString('base64')));
  const before = kept.size;
  for (const seed of found) if (seed.length <= LONGEST) kept.add(seed.toString('base64'));
  mkdirSync(fileURLToPath(FOLDER), { recursive: true });
  writeFileSync(fileFor(target), `${[...kept].join('\n')}\n`);
  return kept.size - before;
}

function fileFor(target: string): string {
  return fileURLToPath(new URL(`${target.replaceAll(' ', '-')}.txt`, FOLDER));
}

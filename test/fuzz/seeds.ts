import { existsSync, readFileSync, writeFileSync } from 'node:fs';

/** Longer inputs are hard to read, and the repository keeps them forever. */
const MAX_SEED_BYTES = 2_048;

/** Reads the stored inputs of a target, one base64 text a line. */
export function readSeeds(target: string): readonly Buffer[] {
  const file = fileOf(target);
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  return lines.filter((line) => line !== '').map((line) => Buffer.from(line, 'base64'));
}

/** Stores the inputs that are new and short enough. Returns their number. */
export function storeSeeds(target: string, inputs: readonly Buffer[]): number {
  const stored = readSeeds(target);
  const short = inputs.filter(({ length }) => length <= MAX_SEED_BYTES);
  const lines = new Set([...stored, ...short].map((bytes) => bytes.toString('base64')));
  writeFileSync(fileOf(target), `${[...lines].join('\n')}\n`);
  return lines.size - stored.length;
}

function fileOf(target: string): URL {
  return new URL(`seeds/${target.replaceAll(' ', '-')}.txt`, import.meta.url);
}

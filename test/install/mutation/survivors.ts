import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';

/** Changes that no relation notices, and why none has to. */
export interface Survivors {
  readonly reason: string;
  /** The names of mutants, by what they match: `*` stands for any text. With how many survive. */
  readonly changes: Readonly<Record<string, number>>;
}

const FILE = path.join(import.meta.dirname, 'survivors.yaml');

/** Reads survivors.yaml. */
export function readList(): readonly Survivors[] {
  return parse(readFileSync(FILE, 'utf8')) as readonly Survivors[];
}

/** The survivors that the list does not have, and the patterns of the list with fewer survivors than they say. */
export function compareWithList(survivors: readonly string[], list: readonly Survivors[]) {
  const found = countByPattern(survivors, list);
  const counts = list.flatMap(({ changes }) => Object.entries(changes));
  const outdated = counts.flatMap(([pattern, count]) => {
    const actual = found.get(pattern)?.length ?? 0;
    return actual < count ? [`${pattern}: ${actual} instead of ${count}`] : [];
  });
  const added = counts.flatMap(([pattern, count]) => {
    const names = found.get(pattern) ?? [];
    return names.length > count ? [`${pattern}: ${names.length} instead of ${count}`] : [];
  });
  return { unlisted: [...(found.get('') ?? []), ...added], outdated };
}

/** Each pattern with its number of survivors, and those without a pattern: what the list has to become. */
export function formatList(survivors: readonly string[], list: readonly Survivors[]): string {
  const lines = [...countByPattern(survivors, list)].map(([pattern, names]) =>
    pattern === '' ? `unlisted:\n  ${names.join('\n  ')}` : `'${pattern}': ${names.length}`,
  );
  return lines.join('\n');
}

/** The first pattern that matches a survivor counts it. The empty pattern counts the others. */
function countByPattern(
  survivors: readonly string[],
  list: readonly Survivors[],
): ReadonlyMap<string, readonly string[]> {
  const patterns = list.flatMap(({ changes }) => Object.keys(changes));
  const expressions = patterns.map((pattern) => [pattern, toExpression(pattern)] as const);
  const found = new Map<string, string[]>(patterns.map((pattern) => [pattern, []]));
  for (const name of survivors) {
    const [pattern = ''] = expressions.find(([, expression]) => expression.test(name)) ?? [];
    found.set(pattern, [...(found.get(pattern) ?? []), name]);
  }
  return found;
}

function toExpression(pattern: string): RegExp {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[$()+.?[\\\]^{|}]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join('.*')}$`, 's');
}

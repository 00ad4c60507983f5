import type { Random } from '../simulation/random.ts';

/** A part of a JSON text: where it begins and ends. */
type Span = readonly [begin: number, end: number];

/** Strings, brackets and everything between them. Made for what is JSON almost everywhere; the rest comes out somehow. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s"[\]{},:]+/gs;

/** After these comes what they are about. */
const OPENING = new Set(['{', '[', ',', ':']);

/** Values that mean something to JSON, to JavaScript or to the guard. */
const VALUES = [
  'null',
  'true',
  '""',
  '{}',
  '[]',
  '-0',
  '1e999',
  '"DELETE"',
  '"rendered-worker-other"',
  '"machineconfigs"',
  '"AdmissionReview"',
  '{"machineconfig-guard.io/allow-deletion":"x"}',
  '"\\ud800"',
];
const KEYS = [
  'request',
  'operation',
  'oldObject',
  'metadata',
  'name',
  'uid',
  'annotations',
  'kind',
  'resource',
  'items',
  '__proto__',
];

/**
 * The JSON text with one thing done to its structure, so that it is still JSON and gets further into whoever reads it than flipped bits
 * do: a value is exchanged for another, from elsewhere in it or from another text, a member is there twice, or not at all, or by
 * another name, or written in another way.
 */
export function restructured(text: string, other: string, random: Random): string {
  const { members, values } = spansOf(text);
  const [value, member] = [random.pick(values), random.pick(members)];
  if (value === undefined || member === undefined) return text;
  switch (random.below(7)) {
    case 0:
      return replaced(text, value, random.pick(VALUES) ?? 'null');
    case 1:
      return replaced(text, value, cut(text, random.pick(values) ?? value));
    case 2:
      return replaced(text, value, cut(other, random.pick(spansOf(other).values) ?? [0, 0]));
    case 3:
      return replaced(text, member, `${cut(text, random.pick(members) ?? member)},${cut(text, member)}`);
    case 4:
      return replaced(text, member, `"":0`);
    case 5:
      return replaced(text, member, cut(text, member).replace(/^"(?:[^"\\]|\\.)*"/s, `"${random.pick(KEYS) ?? ''}"`));
    default:
      return replaced(text, member, escapedKey(cut(text, member)));
  }
}

function cut(text: string, [begin, end]: Span): string {
  return text.slice(begin, end);
}

function replaced(text: string, [begin, end]: Span, by: string): string {
  return text.slice(0, begin) + by + text.slice(end);
}

/** The same key in other letters: a reader that compares bytes takes it for another. */
function escapedKey(member: string): string {
  return member.replace(/^"(?<first>\w)/, (_match, first: string) => `"\\u00${first.charCodeAt(0).toString(16)}`);
}

/** Where the values are, and the members of objects: from the key to the end of its value. */
function spansOf(text: string): { readonly values: readonly Span[]; readonly members: readonly Span[] } {
  const tokens = [...text.matchAll(TOKEN)];
  const [values, members]: [Span[], Span[]] = [[], []];
  const open: number[] = [];
  for (const [index, { 0: token, index: at }] of tokens.entries()) {
    if (token === '{' || token === '[') open.push(index);
    if (OPENING.has(token) || tokens[index + 1]?.[0] === ':') continue;
    const first = token === '}' || token === ']' ? open.pop() : index;
    if (first === undefined) continue;
    const end = at + token.length;
    values.push([tokens[first]?.index ?? at, end]);
    const key = tokens[first - 1]?.[0] === ':' ? tokens[first - 2] : undefined;
    if (key !== undefined) members.push([key.index, end]);
  }
  return { values, members };
}

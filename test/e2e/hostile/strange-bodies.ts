import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';

import type { AttackedGuard } from './attacked-guard.ts';

/** What is sent as the body of a review of a config in use, and what the answer means. */
export type StrangeBody = readonly [title: string, request: (guard: AttackedGuard) => Buffer, meaning: string];

const MIB = 1024 * 1024;
const ALLOW_DELETION = 'machineconfig-guard.io/allow-deletion';

/** The text of the review, with something in it exchanged. Throws where it does not have that. */
function exchanged(guard: AttackedGuard, part: string, by: string): Buffer {
  const text = JSON.stringify(guard.review());
  if (!text.includes(part)) throw new Error(`The review has no ${part}.`);
  return guard.request(text.replace(part, () => by));
}

/** The review with something before its first field of this name, at the depth at which it comes first. */
function before(guard: AttackedGuard, field: string, more: string): Buffer {
  return exchanged(guard, `"${field}":`, `${more},"${field}":`);
}

function inSpec(guard: AttackedGuard, value: string): Buffer {
  return exchanged(guard, '"spec":{', `"more":${value},"spec":{`);
}

function withAnnotations(guard: AttackedGuard, annotations: string): Buffer {
  return exchanged(guard, '"annotations":{', `"annotations":{${annotations},`);
}

function encoded(guard: AttackedGuard, encoding: string, bytes: Buffer): Buffer {
  const head = ['Content-Type: application/json', `Content-Encoding: ${encoding}`, `Content-Length: ${bytes.length}`];
  return guard.request(bytes, { head });
}

function text(guard: AttackedGuard): Buffer {
  return Buffer.from(JSON.stringify(guard.review()));
}

const TWICE: readonly StrangeBody[] = [
  ['request', (guard) => before(guard, 'request', '"request":{"uid":"x"}'), 'MCG_BAD_REVIEW'],
  ['operation', (guard) => before(guard, 'operation', '"operation":"CREATE"'), 'MCG_BAD_REVIEW'],
  [
    'oldObject',
    (guard) => before(guard, 'oldObject', '"oldObject":{"metadata":{"name":"rendered-x"}}'),
    'MCG_BAD_REVIEW',
  ],
  ['metadata', (guard) => before(guard, 'metadata', '"metadata":{"name":"rendered-x"}'), 'MCG_BAD_REVIEW'],
  ['annotations', (guard) => before(guard, 'annotations', `"annotations":{"${ALLOW_DELETION}":"x"}`), 'MCG_BAD_REVIEW'],
  [
    'oldObject, the last one free',
    (guard) => exchanged(guard, '"dryRun":true', '"dryRun":true,"oldObject":{"metadata":{"name":"rendered-x"}}'),
    'MCG_BAD_REVIEW',
  ],
  [
    'operation, escaped and the last one harmless',
    (guard) => exchanged(guard, '"dryRun":true', '"dryRun":true,"oper\\u0061tion":"CREATE"'),
    'MCG_BAD_REVIEW',
  ],
  [
    'in other letters, as Go would take it',
    (guard) =>
      exchanged(
        guard,
        '"dryRun":true',
        '"dryRun":true,"OLDOBJECT":{"metadata":{"name":"rendered-x"}},"Operation":"CREATE"',
      ),
    'MCG_IN_USE',
  ],
];

const PROTOTYPES: readonly StrangeBody[] = ['__proto__', 'constructor', 'prototype', 'toString'].flatMap(
  (key): readonly StrangeBody[] => [
    [`${key} in the request`, (guard) => before(guard, 'operation', `"${key}":{"operation":"CREATE"}`), 'MCG_IN_USE'],
    [
      `${key} in the annotations`,
      (guard) => withAnnotations(guard, `"${key}":{"${ALLOW_DELETION}":"x"}`),
      'MCG_IN_USE',
    ],
  ],
);

const DEEP_AND_WIDE: readonly StrangeBody[] = [
  ['9,000 arrays in each other', (guard) => inSpec(guard, '['.repeat(9_000) + ']'.repeat(9_000)), 'MCG_IN_USE'],
  [
    '100,000 arrays in each other',
    (guard) => inSpec(guard, '['.repeat(100_000) + ']'.repeat(100_000)),
    'MCG_BAD_REVIEW',
  ],
  [
    '100,000 objects in each other',
    (guard) => inSpec(guard, '{"a":'.repeat(100_000) + '0' + '}'.repeat(100_000)),
    'MCG_BAD_REVIEW',
  ],
  [
    '100,000 arrays in an annotation',
    (guard) => withAnnotations(guard, `"a":${'['.repeat(100_000)}${']'.repeat(100_000)}`),
    'MCG_BAD_REVIEW',
  ],
  ['7 MiB of open brackets', (guard) => guard.request('['.repeat(7 * MIB)), 'MCG_BAD_REVIEW'],
  ['two million empty arrays', (guard) => inSpec(guard, `[${'[],'.repeat(2_000_000)}0]`), 'MCG_IN_USE'],
  ['three million numbers', (guard) => inSpec(guard, `[${'1,'.repeat(3_000_000)}0]`), 'MCG_IN_USE'],
  ['7 MiB of escapes', (guard) => inSpec(guard, `"${'\\u0041'.repeat((7 * MIB) / 6)}"`), 'MCG_IN_USE'],
  ['7 MiB of spaces', (guard) => inSpec(guard, `${' '.repeat(7 * MIB)}0`), 'MCG_IN_USE'],
  [
    '200,000 annotations',
    (guard) => withAnnotations(guard, Array.from({ length: 200_000 }, (_, index) => `"${index}":""`).join(',')),
    'MCG_BAD_REVIEW',
  ],
  ['a body over the limit', (guard) => guard.request('x'.repeat(9 * MIB)), 'MCG_BAD_REVIEW'],
  [
    'chunks over the limit',
    (guard) =>
      guard.request(`900000\r\n${'x'.repeat(9 * MIB)}\r\n0\r\n\r\n`, {
        head: ['Content-Type: application/json', 'Transfer-Encoding: chunked'],
      }),
    'MCG_BAD_REVIEW',
  ],
  [
    'a name of a megabyte',
    (guard) => guard.request(JSON.stringify(guard.review({ name: `rendered-${'x'.repeat(MIB)}` }))),
    'MCG_BAD_REVIEW',
  ],
  [
    'a uid of a megabyte',
    (guard) => guard.request(JSON.stringify(guard.review({ uid: 'x'.repeat(MIB) }))),
    'MCG_IN_USE',
  ],
  [
    'a user of a megabyte',
    (guard) => guard.request(JSON.stringify(guard.review({ userInfo: { username: 'x\n'.repeat(MIB / 2) } }))),
    'MCG_IN_USE',
  ],
];

const TEXTS: readonly StrangeBody[] = [
  ['nothing', (guard) => guard.request(''), 'MCG_BAD_REVIEW'],
  [
    'invalid UTF-8',
    (guard) => guard.request(Buffer.from(text(guard).toString().replace('mallory', '\u00ff'), 'latin1')),
    'MCG_BAD_REVIEW',
  ],
  [
    'an overlong slash',
    (guard) => guard.request(Buffer.concat([text(guard).subarray(0, -1), Buffer.from([0xc0, 0xaf, 0x7d])])),
    'MCG_BAD_REVIEW',
  ],
  ['UTF-16', (guard) => guard.request(Buffer.from(text(guard).toString(), 'utf16le')), 'MCG_BAD_REVIEW'],
  [
    'a byte order mark',
    (guard) => guard.request(Buffer.concat([Buffer.from('\uFEFF'), text(guard)])),
    'MCG_BAD_REVIEW',
  ],
  ['a lone surrogate in the user', (guard) => exchanged(guard, 'mallory', '\\ud800'), 'MCG_IN_USE'],
  ['a lone surrogate in the uid', (guard) => exchanged(guard, '0df28fbd', '\\udfff'), 'MCG_IN_USE'],
  ['a NUL in the uid', (guard) => exchanged(guard, '0df28fbd', '\\u0000'), 'MCG_IN_USE'],
  ['NaN', (guard) => exchanged(guard, '"dryRun":true', '"dryRun":NaN'), 'MCG_BAD_REVIEW'],
  ['Infinity', (guard) => inSpec(guard, '-Infinity'), 'MCG_BAD_REVIEW'],
  ['1e999', (guard) => inSpec(guard, '1e999'), 'MCG_IN_USE'],
  ['a leading zero', (guard) => inSpec(guard, '01'), 'MCG_BAD_REVIEW'],
  ['a comment', (guard) => inSpec(guard, '0/*x*/'), 'MCG_BAD_REVIEW'],
  ['a comma too many', (guard) => inSpec(guard, '[1,]'), 'MCG_BAD_REVIEW'],
  [
    'a second review behind the first',
    (guard) => guard.request(Buffer.concat([text(guard), text(guard)])),
    'MCG_BAD_REVIEW',
  ],
  [
    'a name that is an object',
    (guard) => guard.request(JSON.stringify(guard.review({ oldObject: { metadata: { name: { toString: 'x' } } } }))),
    'MCG_BAD_REVIEW',
  ],
  ['an override without a reason', (guard) => withAnnotations(guard, `"${ALLOW_DELETION}":" \\t\\n "`), 'MCG_IN_USE'],
  ['an override that is true', (guard) => withAnnotations(guard, `"${ALLOW_DELETION}":true`), 'MCG_IN_USE'],
  ['an override in a list', (guard) => withAnnotations(guard, `"${ALLOW_DELETION}":["x"]`), 'MCG_IN_USE'],
];

const COMPRESSED: readonly StrangeBody[] = [
  ['gzip', (guard) => encoded(guard, 'gzip', gzipSync(text(guard))), 'MCG_BAD_REVIEW'],
  ['deflate', (guard) => encoded(guard, 'deflate', deflateSync(text(guard))), 'MCG_BAD_REVIEW'],
  ['brotli', (guard) => encoded(guard, 'br', brotliCompressSync(text(guard))), 'MCG_BAD_REVIEW'],
  ['gzip twice', (guard) => encoded(guard, 'gzip, gzip', gzipSync(gzipSync(text(guard)))), 'MCG_BAD_REVIEW'],
  [
    'a gigabyte that fits into a megabyte',
    (guard) => encoded(guard, 'gzip', gzipSync(Buffer.alloc(1024 * MIB))),
    'MCG_BAD_REVIEW',
  ],
  ['gzip that does not say so', (guard) => guard.request(gzipSync(text(guard))), 'MCG_BAD_REVIEW'],
  ['an encoding that nobody knows', (guard) => encoded(guard, 'x-rot13', text(guard)), 'MCG_BAD_REVIEW'],
  ['the encoding identity', (guard) => encoded(guard, 'Identity', text(guard)), 'MCG_IN_USE'],
];

/** By what is strange about them. */
export const STRANGE_BODIES: Readonly<Record<string, readonly StrangeBody[]>> = {
  'a part that is there twice': TWICE,
  'keys that JavaScript knows': PROTOTYPES,
  'deep, wide and large': DEEP_AND_WIDE,
  texts: TEXTS,
  compressed: COMPRESSED,
};

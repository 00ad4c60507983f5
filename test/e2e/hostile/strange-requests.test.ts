import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { AttackedGuard, MEMORY_MAX, START_MS, UNHARMED } from './attacked-guard.ts';
import { meaning } from './answers.ts';
import { STRANGE_BODIES } from './strange-bodies.ts';

let guard: AttackedGuard;

beforeAll(async () => {
  guard = await AttackedGuard.start();
}, START_MS);
afterAll(() => guard.stop());

const JSON_TYPE = 'Content-Type: application/json';
/** How each connection came to its end: what each answer means, one after the other. Nothing where it was closed without one. */
type Ends = readonly string[];

/** Sends a whole request whose first line and header are these; the body is that of the review. */
function withHead(...head: readonly string[]): Buffer {
  return guard.request(undefined, { head: [JSON_TYPE, `Content-Length: ${length()}`, ...head] });
}

function length(): number {
  return Buffer.byteLength(JSON.stringify(guard.review()));
}

function withFraming(...framing: readonly string[]): Buffer {
  return guard.request(undefined, { head: [JSON_TYPE, ...framing] });
}

function firstLine(line: string): Buffer {
  const whole = guard.request().toString('latin1');
  return Buffer.from(
    whole.replace(/^[^\r]*/, () => line),
    'latin1',
  );
}

function to(target: string): Buffer {
  return guard.request(undefined, { target });
}

function chunked(...chunks: readonly string[]): Buffer {
  return guard.request(chunks.join(''), { head: [JSON_TYPE, 'Transfer-Encoding: chunked'] });
}

/** The review, in chunks of so many bytes. */
function reviewInChunks(size: number, trailers = ''): Buffer {
  const text = JSON.stringify(guard.review());
  const chunks = Array.from({ length: Math.ceil(text.length / size) }, (_, index) => {
    const chunk = text.slice(index * size, (index + 1) * size);
    return `${chunk.length.toString(16)}\r\n${chunk}\r\n`;
  });
  return chunked(...chunks, `0\r\n${trailers}\r\n`);
}

const HEADERS: readonly (readonly [string, () => Buffer, Ends])[] = [
  ['as it should be', () => guard.request(), ['MCG_IN_USE']],
  ['a header of 20 kB', () => withHead(`X-Big: ${'x'.repeat(20_000)}`), ['431']],
  ['10,000 headers', () => withHead(...Array.from({ length: 10_000 }, (_, index) => `X-${index}: y`)), ['431']],
  ['1,000 headers', () => withHead(...Array.from({ length: 1_000 }, () => 'X: y')), ['MCG_IN_USE']],
  ['a NUL in a header', () => withHead('X-Nul: a\u0000b'), ['400']],
  ['a bare carriage return in a header', () => withHead('X-Cr: a\rb'), ['400']],
  ['bytes that are not ASCII in a header', () => withHead('X-Text: \u00e9\u00ff'), ['MCG_IN_USE']],
  ['bytes that are not ASCII in a name of a header', () => withHead('X-\u00e9: y'), ['400']],
  ['a header without a colon', () => withHead('nonsense'), ['400']],
  ['a header that goes on in the next line', () => withHead('X-Fold: a', ' b'), ['400']],
  ['a space before the colon', () => withHead('X-Space : a'), ['400']],
  ['__proto__ as a header', () => withHead('__proto__: x', 'constructor: y'), ['MCG_IN_USE']],
  ['no Host', () => Buffer.from(guard.request().toString('latin1').replace('Host: guard\r\n', ''), 'latin1'), ['400']],
  [
    'another content type',
    () => guard.request(undefined, { head: ['Content-Type: text/plain', `Content-Length: ${length()}`] }),
    ['MCG_BAD_REVIEW'],
  ],
  ['no content type', () => guard.request(undefined, { head: [`Content-Length: ${length()}`] }), ['MCG_BAD_REVIEW']],
  [
    'a content type of nonsense',
    () => guard.request(undefined, { head: ['Content-Type: ;;;', `Content-Length: ${length()}`] }),
    ['MCG_BAD_REVIEW'],
  ],
  [
    'a content type with a charset',
    () => guard.request(undefined, { head: [`${JSON_TYPE}; charset=utf-8`, `Content-Length: ${length()}`] }),
    ['MCG_IN_USE'],
  ],
  ['Expect: 100-continue', () => withHead('Expect: 100-continue'), ['100', 'MCG_IN_USE']],
  ['Expect: something else', () => withHead('Expect: a miracle'), ['417']],
  ['Upgrade to a WebSocket', () => withHead('Connection: Upgrade', 'Upgrade: websocket'), ['MCG_IN_USE']],
  [
    'Upgrade to HTTP/2',
    () => withHead('Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk'),
    ['MCG_IN_USE'],
  ],
];

const FRAMING: readonly (readonly [string, () => Buffer, Ends])[] = [
  ['two different lengths', () => withFraming(`Content-Length: ${length()}`, 'Content-Length: 1'), ['400']],
  ['the same length twice', () => withFraming(`Content-Length: ${length()}`, `Content-Length: ${length()}`), ['400']],
  ['a list of lengths', () => withFraming(`Content-Length: ${length()}, ${length()}`), ['400']],
  ['a negative length', () => withFraming('Content-Length: -1'), ['400']],
  ['a hexadecimal length', () => withFraming('Content-Length: 0x10'), ['400']],
  ['a length that no number holds', () => withFraming(`Content-Length: ${'9'.repeat(30)}`), ['400']],
  // One reader takes the length and sees a second request where the other, who takes the chunks, sees a body.
  ['a length and chunks', () => withFraming(`Content-Length: ${length()}`, 'Transfer-Encoding: chunked'), ['400']],
  ['chunks and a length', () => withFraming('Transfer-Encoding: chunked', `Content-Length: ${length()}`), ['400']],
  ['an unknown transfer encoding', () => withFraming('Transfer-Encoding: xchunked'), ['400']],
  ['chunked, but not last', () => withFraming('Transfer-Encoding: chunked, identity'), ['400']],
  [
    'a tab before chunked and a length',
    () => withFraming('Transfer-Encoding:\tchunked', `Content-Length: ${length()}`),
    ['400'],
  ],
  ['one chunk', () => reviewInChunks(1_000_000), ['MCG_IN_USE']],
  ['chunks of one byte', () => reviewInChunks(1), ['MCG_IN_USE']],
  ['chunks with trailers', () => reviewInChunks(100, 'X-Trailer: x\r\n'), ['MCG_IN_USE']],
  ['chunks with a length among the trailers', () => reviewInChunks(100, 'Content-Length: 3\r\n'), ['400']],
  ['chunks with 20 kB of trailers', () => reviewInChunks(100, `X: ${'x'.repeat(20_000)}\r\n`), ['431']],
  ['a chunk size that is none', () => chunked('zz\r\n{}\r\n0\r\n\r\n'), ['400']],
  ['a chunk size that no number holds', () => chunked(`${'F'.repeat(17)}\r\n{}\r\n0\r\n\r\n`), ['400']],
  ['a chunk that is longer than it says', () => chunked('1\r\n{}}}\r\n0\r\n\r\n'), ['400']],
  ['a negative chunk size', () => chunked('-1\r\n{}\r\n0\r\n\r\n'), ['400']],
  [
    'a body that was announced longer than it is',
    () =>
      guard.request(undefined, {
        target: '/validate?timeout=1s',
        head: [JSON_TYPE, `Content-Length: ${length() + 10}`],
      }),
    ['MCG_BAD_REVIEW'],
  ],
  [
    'a body that was announced shorter than it is',
    () => withFraming(`Content-Length: ${length() - 10}`),
    ['MCG_BAD_REVIEW', '400'],
  ],
  [
    'chunks that never end',
    () =>
      guard.request('1\r\n{\r\n', { target: '/validate?timeout=1s', head: [JSON_TYPE, 'Transfer-Encoding: chunked'] }),
    ['MCG_BAD_REVIEW'],
  ],
];

const LINES: readonly (readonly [string, () => Buffer, Ends])[] = [
  ['an absolute target', () => to('https://guard/validate?timeout=5s'), ['MCG_IN_USE']],
  ['CONNECT', () => Buffer.from('CONNECT kubernetes:443 HTTP/1.1\r\nHost: kubernetes:443\r\n\r\n'), []],
  ['HTTP/0.9', () => Buffer.from('GET /validate\r\n\r\n'), ['405']],
  ['HTTP/1.0', () => firstLine('POST /validate HTTP/1.0'), ['MCG_IN_USE']],
  ['HTTP/1.9', () => firstLine('POST /validate HTTP/1.9'), ['400']],
  ['HTTP/2 in the first line', () => firstLine('POST /validate HTTP/2.0'), ['MCG_IN_USE']],
  ['the preface of HTTP/2', () => Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), ['400']],
  [
    'lines that end without a carriage return',
    () => Buffer.from(guard.request().toString('latin1').replaceAll('\r\n', '\n'), 'latin1'),
    ['400'],
  ],
  ['a method that is none', () => firstLine('DELETEALL /validate HTTP/1.1'), ['400']],
  ['a method in small letters', () => firstLine('post /validate HTTP/1.1'), ['400']],
  ...['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'].map(
    (method) => [method, () => firstLine(`${method} /validate HTTP/1.1`), ['405']] as const,
  ),
  ...[
    '/',
    '/validate/',
    '//validate',
    '/./validate',
    '/validate/../validate',
    '/../../etc/passwd',
    '/%76alidate',
    '/validate%00',
    '/validate%2f',
    '/validate;x',
    '/VALIDATE',
    '/healthz',
    '/metrics',
    '/__proto__',
    '/%',
  ].map((path) => [`the path ${path}`, () => to(path), ['404']] as const),
  ['a target without a slash', () => to('validate'), ['400']],
  ['the target *', () => to('*'), ['404']],
  ['a byte that is not ASCII in the target', () => to('/validat\u00e9'), ['400']],
  ['a query of 10 kB', () => to(`/validate?${'a=b&'.repeat(2_500)}timeout=5s`), ['MCG_IN_USE']],
  ['a query of 20 kB', () => to(`/validate?${'a=b&'.repeat(5_000)}`), ['431']],
  ...[
    '',
    '-5s',
    '0s',
    '5',
    'NaN',
    'Infinity',
    '1e999s',
    '5s5s5s',
    '9'.repeat(400),
    '%00',
    '%',
    '%F0%9F',
    '5s&timeout=6s',
    '5s&timeout[__proto__]=1',
  ].map(
    (timeout) => [`timeout=${timeout.slice(0, 20)}`, () => to(`/validate?timeout=${timeout}`), ['MCG_IN_USE']] as const,
  ),
];

test.each([...HEADERS, ...FRAMING, ...LINES])('%s', async (_title, bytes, ends) => {
  const answers = await guard.answers(bytes(), Math.max(1, ends.length));
  expect(answers.map(meaning)).toEqual(ends);
});

describe.each(Object.entries(STRANGE_BODIES))('%s', (_what, bodies) => {
  test.each(bodies)('%s', async (_title, request, expected) => {
    expect((await guard.answers(request(guard))).map(meaning)).toEqual([expected]);
  });
});

test('five requests in one piece are answered in their order', async () => {
  const reviews = Array.from({ length: 5 }, (_, index) =>
    guard.request(JSON.stringify(guard.review({ uid: `review-${index}` }))),
  );
  const answers = await guard.answers(Buffer.concat(reviews), 5);
  expect(answers.map(meaning)).toEqual(Array.from({ length: 5 }, () => 'MCG_IN_USE'));
  expect(answers.map(({ body }) => /"uid":"(?<uid>[^"]*)"/.exec(body)?.groups?.['uid'])).toEqual(
    reviews.map((_, index) => `review-${index}`),
  );
});

test('what follows a good request is judged by itself', async () => {
  const answers = await guard.answers(Buffer.concat([guard.request(), Buffer.from('GET / HTTP/9\r\n\r\n')]), 2);
  expect(answers.map(meaning)).toEqual(['MCG_IN_USE', '400']);
});

test('after a refused body the next request on the connection is answered', async () => {
  const large = guard.request('x'.repeat(9 * 1024 * 1024));
  const answers = await guard.answers(Buffer.concat([large, guard.request()]), 2);
  expect(answers.map(meaning)).toEqual(['MCG_BAD_REVIEW', 'MCG_IN_USE']);
});

test('and nothing has happened to the guard', async () => {
  expect(await guard.state()).toEqual(UNHARMED);
  expect(await guard.peakMemory()).toBeLessThan(MEMORY_MAX);
  const free = await guard.cluster.config();
  expect((await guard.cluster.delete(free)).status).toBe(200);
  expect((await guard.cluster.delete(guard.used)).status).toBe(403);
});

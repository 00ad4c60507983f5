import { connect } from 'node:tls';
import { text } from 'node:stream/consumers';
import express from 'express';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TlsServer } from '../../src/webhook/tls-server.ts';
import { memoryLog } from '../support/log.ts';
import { exchangeable, type TestTls, testTls } from '../support/tls.ts';

let tls: TestTls;
let server: TlsServer;
let port: number;

beforeAll(async () => {
  tls = await testTls();
  const app = express();
  app.use(async (_request, response) => {
    await new Promise((resolve) => setTimeout(resolve, 200));
    response.send('ok');
  });
  const certificate = exchangeable(await tls.leaf());
  server = new TlsServer({ app, certificate, minVersion: 'TLSv1.2', log: memoryLog().log });
  port = await server.listen(0, '127.0.0.1');
});
afterAll(() => server.close());

/** Everything that comes back until the connection is closed. */
async function saidTo(sent: string): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, ca: tls.ca });
  socket.write(sent);
  return await text(socket);
}

const GOOD = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n';
const BAD = 'POST / HTTP/1.1\r\nHost: x\r\nX: \u0000\r\n';

test.each([
  ['a header that is none', `${BAD}\r\n`, '400 Bad Request'],
  ['the same, and megabytes behind it', `${BAD}\r\n${'x'.repeat(2_000_000)}`, '400 Bad Request'],
  [
    'too much header',
    `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
    '431 Request Header Fields Too Large',
  ],
  [
    'a body that stops being one',
    'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
    '400 Bad Request',
  ],
])('%s: a status, a sentence, and the end', async (_title, sent, status) => {
  expect(await saidTo(sent)).toMatch(
    new RegExp(String.raw`^HTTP/1\.1 ${status}\r\n[^]*\r\n\r\nThe guard cannot read this request\.\n$`),
  );
});

test('a good request before it is still answered, and first', async () => {
  const said = await saidTo(`${GOOD}${BAD}\r\n`);
  expect([...said.matchAll(/HTTP\/1\.1 (?<status>\d+)/g)].map(({ groups }) => groups?.['status'])).toEqual([
    '200',
    '400',
  ]);
});

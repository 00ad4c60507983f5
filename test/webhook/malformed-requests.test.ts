import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { startTestServer } from './test-server.ts';

async function send(bytes: string): Promise<string> {
  const socket = (await startTestServer()).connectTls();
  socket.write(bytes);
  return await text(socket);
}

const GOOD = 'POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n';
const MALFORMED = 'POST / HTTP/1.1\r\nHost: x\r\nX: \u0000\r\n\r\n';
const CHUNKED = 'POST /slow HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';

test.each([
  ['400 Bad Request', 'a malformed header', MALFORMED],
  ['400 Bad Request', 'a malformed header before megabytes', MALFORMED + 'x'.repeat(2_000_000)],
  ['400 Bad Request', 'a malformed chunk', `${CHUNKED}zz\r\n`],
  ['431 Request Header Fields Too Large', 'large headers', `GET / HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`],
])('answers %s to %s and closes the connection', async (status, _case, bytes) => {
  const answer = String.raw`^HTTP/1\.1 ${status}\r\n[^]*\r\n\r\nThe guard cannot read this request\.\n$`;
  expect(await send(bytes)).toMatch(new RegExp(answer));
});

test('answers a good request before a malformed one', async () => {
  const statuses = [...(await send(GOOD + MALFORMED)).matchAll(/HTTP\/1\.1 (?<status>\d+)/g)];
  expect(statuses.map(({ groups }) => groups?.['status'])).toEqual(['200', '400']);
});

import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { BodyReader } from '../../src/review/body-reader.ts';

test('counts nothing of a body that arrives after its timeout', async () => {
  const request = Object.assign(new PassThrough(), { headers: { 'content-length': '10' } });
  const reading = new BodyReader().read(request as unknown as IncomingMessage, String, 1);
  await expect(reading).rejects.toThrow('the request body did not arrive in time');
  expect(request.listenerCount('data')).toBe(0);
});

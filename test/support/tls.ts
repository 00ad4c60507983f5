import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import type { Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { createAuthority, issueLeaf } from '../../src/certificates/authority.ts';
import { listen } from '../../src/serving/tls-server.ts';

export type TestTls = Awaited<ReturnType<typeof createTestTls>>;

/** Created once for the files of a worker. */
let tls: Promise<TestTls> | undefined;

export async function testTls() {
  return await (tls ??= createTestTls());
}

/** Creates an authority that issues leaves for this machine, and for more of its addresses. */
async function createTestTls() {
  const now = new Date();
  const authority = await createAuthority({ days: 1, now });
  return {
    ca: authority.certificatePem,
    leaf: async (addresses: readonly string[] = []) =>
      await issueLeaf({ authority, dnsNames: ['localhost'], ipAddresses: ['127.0.0.1', ...addresses], days: 1, now }),
  };
}

/** Starts an HTTPS server on 127.0.0.1 until the end of the test. `sockets` are all its connections so far. */
export async function startHttpsServer(onRequest: RequestListener) {
  const { ca, leaf } = await testTls();
  const { certificatePem: cert, privateKeyPem: key } = await leaf();
  const server = createServer({ key, cert }, onRequest);
  const sockets: Socket[] = [];
  server.on('connection', (socket: Socket) => sockets.push(socket));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { port: await listen(server, 0, '127.0.0.1'), ca, sockets };
}

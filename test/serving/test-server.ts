import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { connect as connectTcp } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls';
import express, { type RequestHandler } from 'express';
import { onTestFinished } from 'vitest';
import { ServingCertificate } from '../../src/certificates/key-pair.ts';
import { ConnectionLimiter } from '../../src/serving/connection-limiter.ts';
import { Replaceable } from '../../src/common/replaceable.ts';
import { INTERMEDIATE } from '../../src/serving/tls-profile.ts';
import { close, createTlsServer, listen, type TlsServerOptions } from '../../src/serving/tls-server.ts';
import { memoryLog } from '../support/log.ts';
import { testTls } from '../support/tls.ts';

export type TestServer = Awaited<ReturnType<typeof startTestServer>>;

/** Starts a TLS server until the end of the test. It answers `ok`. */
export async function startTestServer({
  handler = (_request, _response, next) => next(),
  ...options
}: Partial<TlsServerOptions> & { readonly handler?: RequestHandler } = {}) {
  const tls = await testTls();
  const pairs = await Promise.all([tls.leaf(), tls.leaf()]);
  const certificate = new ServingCertificate(pairs[0]);
  const app = express();
  app.use(handler);
  app.use((_request, response) => void response.send('ok'));
  const server = createTlsServer({
    app,
    certificate,
    tlsPolicy: new Replaceable(INTERMEDIATE),
    log: memoryLog().log,
    connections: new ConnectionLimiter(100),
    ...options,
  });
  const port = await listen(server, 0, '127.0.0.1');
  // The last one of the hooks, because it waits for the connections.
  onTestFinished(async () => await close(server));
  const closeAtEnd = <T extends { destroy: () => unknown }>(closeable: T): T => {
    onTestFinished(() => void closeable.destroy());
    return closeable;
  };
  return {
    server,
    certificate,
    pairs,
    connectTcp: () => closeAtEnd(connectTcp(port, '127.0.0.1')).on('error', () => {}),
    connectTls: (tlsOptions: ConnectionOptions = {}) =>
      closeAtEnd(connectTls({ host: '127.0.0.1', port, ca: tls.ca, ...tlsOptions })),
    /** Returns a function that calls the server over a connection of its own. */
    createClient: () => {
      const agent = closeAtEnd(new Agent({ keepAlive: true, maxSockets: 1, ca: tls.ca }));
      return async (path = '/') => {
        const call = request({ host: '127.0.0.1', port, path, agent }).end();
        const [response] = (await once(call, 'response')) as [IncomingMessage];
        const { serialNumber: serial } = (response.socket as TLSSocket).getPeerCertificate();
        const keepAlive = response.headers['keep-alive'];
        return { body: await text(response), serial, isReused: call.reusedSocket, keepAlive };
      };
    },
  };
}

import { constants } from 'node:crypto';
import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import { createServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import type { ServingCertificate } from '../certificates/key-pair.ts';
import type { ConnectionLimiter } from './connection-limiter.ts';
import type { TlsPolicy } from './tls-profile.ts';

export interface TlsServerOptions {
  readonly app: RequestListener;
  readonly certificate: ServingCertificate;
  readonly tlsPolicy: TlsPolicy;
  readonly log: Logger;
  readonly connections: ConnectionLimiter;
}

/** The API server keeps connections for 90 s and retries no call on a closed one (client-go, transport). */
const KEEP_ALIVE_MS = 120_000;
/** The API server sends a review immediately. The apps answer if a body is late, and close the connection. */
const HEADERS_TIMEOUT_MS = 10_000;
const TIMEOUT_CHECK_INTERVAL_MS = 1_000;
/** Node's default is two minutes. */
const HANDSHAKE_TIMEOUT_MS = 10_000;
export const DRAIN_TIMEOUT_MS = 10_000;
const IDLE_CHECK_MS = 250;

/** No call is dropped by a new certificate, by new TLS parameters or by the shutdown. */
export function createTlsServer({ app, certificate, tlsPolicy, log, connections }: TlsServerOptions): Server {
  // setSecureContext resets omitted options, such as minVersion.
  const tlsOptions = (): ServerOptions => {
    const { certificatePem, privateKeyPem } = certificate.current();
    const { minVersion, ciphers, groups } = tlsPolicy.current();
    return {
      cert: certificatePem,
      key: privateKeyPem,
      minVersion,
      ciphers,
      ecdhCurve: groups,
      ALPNProtocols: ['http/1.1'],
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      // A TLS 1.2 client could repeat the handshake on an open connection without end.
      secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    };
  };
  const server = createServer({
    ...tlsOptions(),
    headersTimeout: HEADERS_TIMEOUT_MS,
    connectionsCheckingInterval: TIMEOUT_CHECK_INTERVAL_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
  });
  connections.serve(server, app);
  const reload = (change: string): void => {
    try {
      server.setSecureContext(tlsOptions());
      log.info(`serving with ${change}`);
    } catch (error) {
      log.error({ err: error }, `${change} cannot be used; serving as before`);
    }
  };
  certificate.onChange(() => reload('a new certificate'));
  tlsPolicy.onChange(() => reload('a new TLS profile'));
  server.on('tlsClientError', (error) => {
    log.debug({ reason: error.message }, 'a TLS handshake failed');
  });
  return server;
}

/** A port cannot be used. The cause is the error of the system. */
export class ListenError extends Error {}

/** Returns the port. Port 0 picks a free one. @throws ListenError */
export async function listen(server: Server, port: number, bindAddress: string | undefined): Promise<number> {
  try {
    await once(server.listen(port, bindAddress), 'listening');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const address = bindAddress ?? 'all addresses';
    throw new ListenError(`cannot listen on port ${port} of ${address}: ${code}`, { cause: error });
  }
  return (server.address() as AddressInfo).port;
}

/** Accepts no new connection. Resolves when all calls are answered, or when this time has passed. */
export async function close(server: Server, drainTimeoutMs = DRAIN_TIMEOUT_MS): Promise<void> {
  await new Promise<void>((resolve) => {
    // server.close() never closes a connection that was busy when it was called.
    const closeIdle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
    const closeAll = setTimeout(() => server.closeAllConnections(), drainTimeoutMs);
    server.close(() => {
      clearInterval(closeIdle);
      clearTimeout(closeAll);
      resolve();
    });
    server.closeIdleConnections();
  });
}

import { constants } from 'node:crypto';
import { createServer, type Server, type ServerOptions } from 'node:https';
import type { AddressInfo, Server as NetServer, Socket } from 'node:net';
import type { SecureVersion } from 'node:tls';
import type { Express } from 'express';
import type { Logger } from 'pino';
import { ConnectionLimiter } from './connection-limiter.ts';
import { rejectPlainHttp } from './reject-plain-http.ts';
import type { ServingCertificate } from '../certificates/serving-certificate.ts';
import { answerMalformedRequests } from './malformed-requests.ts';

/** What the TLS server needs. */
export interface TlsServerOptions {
  readonly app: Express;
  readonly certificate: ServingCertificate;
  readonly minVersion: SecureVersion;
  readonly log: Logger;
  /** Open connections at once; more cut off those that are of no use. */
  readonly maxConnections?: number;
}

/**
 * The API server keeps idle connections for 90 s and does not send a call again whose connection was closed under it
 * (client-go, transport defaults). So we keep them longer.
 */
const KEEP_ALIVE_MS = 120_000;
/** Headers and whole requests must arrive within these; the API server sends a review at once. */
const HEADERS_MS = 10_000;
const REQUEST_MS = 30_000;
const CHECK_MS = 1_000;
/** Node would wait two minutes for a handshake to end. */
const HANDSHAKE_MS = 10_000;
/**
 * An API server opens one connection for each call under way and keeps up to 25 idle ones (kubernetes,
 * apimachinery/pkg/util/net/http.go); 300 deletions at once through three of them are 900. One costs some 50 kB.
 */
const MAX_CONNECTIONS = 2_000;
/** The API server sends half a dozen. What is over it is left out, whatever it says. */
const MAX_HEADERS = 100;
/** A rolling restart takes connections away from under nobody for this long; then it has to end. */
const DRAIN_MS = 10_000;
const IDLE_CHECK_MS = 250;

/** Serves the webhook over TLS, takes over renewed certificates without dropping a call, and stops without dropping one. */
export class TlsServer {
  readonly #server: Server;

  constructor({ app, certificate, minVersion, log, maxConnections = MAX_CONNECTIONS }: TlsServerOptions) {
    // TLS options must be given as a whole each time: setSecureContext forgets those that are left out, minVersion too.
    const tls = (): ServerOptions => ({
      ...certificate.current(),
      minVersion,
      ALPNProtocols: ['http/1.1'],
      handshakeTimeout: HANDSHAKE_MS,
      // In TLS 1.2 a client could ask for one handshake after the other on an open connection. Nobody has a use for it.
      secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    });
    this.#server = createServer(
      { ...tls(), requestTimeout: REQUEST_MS, headersTimeout: HEADERS_MS, connectionsCheckingInterval: CHECK_MS },
      app,
    );
    this.#server.keepAliveTimeout = KEEP_ALIVE_MS;
    this.#server.maxHeadersCount = MAX_HEADERS;
    const connections = new ConnectionLimiter(maxConnections);
    this.#server.on('request', (request) => {
      request.once('end', () => {
        connections.markUseful(request.socket);
      });
    });
    answerMalformedRequests(this.#server);
    rejectPlainHttp(this.#server);
    this.#server.on('connection', (socket: Socket) => {
      connections.add(socket);
    });
    certificate.onChange(() => {
      try {
        this.#server.setSecureContext(tls());
        log.info('serving with a new certificate');
      } catch (error) {
        log.error({ err: error }, 'the new certificate cannot be used; serving with the old one');
      }
    });
    this.#server.on('tlsClientError', (error) => {
      log.debug({ reason: error.message }, 'a TLS handshake failed');
    });
  }

  /**
   * Begins to listen; port 0 picks a free one.
   *
   * @returns the port
   * @throws the system's error where the address cannot be used
   */
  async listen(port: number, bindAddress: string | undefined): Promise<number> {
    return await listen(this.#server, port, bindAddress);
  }

  /** Takes no new connection, waits for the calls under way, and ends when all connections are gone. */
  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      // close() alone leaves a connection open that was busy when it was called.
      const idle = setInterval(() => {
        this.#server.closeIdleConnections();
      }, IDLE_CHECK_MS);
      const all = setTimeout(() => {
        this.#server.closeAllConnections();
      }, DRAIN_MS);
      this.#server.close(() => {
        clearInterval(idle);
        clearTimeout(all);
        resolve();
      });
      this.#server.closeIdleConnections();
    });
  }
}

/** Listens and answers the port. Throws the system's error. */
export async function listen(server: NetServer, port: number, bindAddress: string | undefined): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, ...(bindAddress === undefined ? {} : { host: bindAddress }) }, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return (server.address() as AddressInfo).port;
}

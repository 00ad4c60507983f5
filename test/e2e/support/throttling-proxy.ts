import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, request, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';

import { issueServerCertificate } from '../control-plane/certificates.ts';
import { pause } from '../control-plane/until.ts';

/** The behavior of an API server under load. */
export interface Throttling {
  /** The share of requests that get 429, between 0 and 1. */
  readonly rejectedShare?: number;
  /** Milliseconds before each response. */
  readonly delayMs?: number;
}

/** An HTTPS proxy in front of an API server. It passes everything on, unless it throttles. */
export class ThrottlingProxy {
  /** PEM of the authority that issued its certificate. */
  readonly ca: string;
  readonly port: number;
  /** The number of requests that were rejected or delayed. */
  throttledRequests = 0;
  throttling: Throttling = {};
  readonly #server: Server;
  readonly #agent: Agent;
  readonly #target: URL;
  #accumulatedShare = 0;

  private constructor(server: Server, ca: string, target: URL, targetCa: string) {
    this.#server = server;
    this.ca = ca;
    this.port = (server.address() as AddressInfo).port;
    this.#target = target;
    this.#agent = new Agent({ ca: targetCa, keepAlive: true });
    server.on('request', (incoming: IncomingMessage, outgoing: ServerResponse) => {
      // If one side closes its connection, the other one must close, too.
      void this.#handle(incoming, outgoing).catch(() => outgoing.destroy());
    });
  }

  static async start(target: string, targetCa: string): Promise<ThrottlingProxy> {
    const { ca, key, certificate } = await issueServerCertificate();
    const server = createServer({ key, cert: certificate }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new ThrottlingProxy(server, ca, new URL(target), targetCa);
  }

  async stop(): Promise<void> {
    const closed = once(this.#server.close(), 'close');
    this.#server.closeAllConnections();
    this.#agent.destroy();
    await closed;
  }

  async #handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { rejectedShare = 0, delayMs = 0 } = this.throttling;
    // In turn rather than at random, so that runs are comparable.
    this.#accumulatedShare += rejectedShare;
    if (this.#accumulatedShare >= 1) {
      this.#accumulatedShare -= 1;
      this.throttledRequests += 1;
      // As API Priority and Fairness (kubernetes, apiserver/pkg/server/filters/priority-and-fairness.go).
      outgoing.writeHead(429, { 'content-type': 'text/plain', 'retry-after': '1' });
      outgoing.end('Too many requests, please try again later.\n');
      return;
    }
    if (delayMs > 0) {
      this.throttledRequests += 1;
      await pause(delayMs);
    }
    await this.#forward(incoming, outgoing);
  }

  async #forward(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { method, url, headers } = incoming;
    const target = new URL(url ?? '/', this.#target);
    const forwarded = request(target, { agent: this.#agent, method, headers: { ...headers, host: target.host } });
    outgoing.once('close', () => forwarded.destroy());
    const responded = once(forwarded, 'response') as Promise<[IncomingMessage]>;
    const [[response]] = await Promise.all([responded, pipeline(incoming, forwarded)]);
    outgoing.writeHead(response.statusCode ?? 502, response.headers);
    // A watch may send nothing for a while, and its client waits for the headers.
    outgoing.flushHeaders();
    await pipeline(response, outgoing);
  }
}

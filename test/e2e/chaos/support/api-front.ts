import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, request, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';

import { ThrowawayAuthority } from '../../control-plane/certificates.ts';
import { pause } from '../../control-plane/until.ts';

/** What an API server under load does to requests. */
export interface Load {
  /** Answers this share of the requests with 429, between 0 and 1. */
  readonly refused?: number;
  /** Milliseconds before each response. */
  readonly delayMs?: number;
}

const RETRY_AFTER_S = 1;

/** An HTTPS server in front of an API server, by the name of which it passes everything on, until it is told to be under load. */
export class ApiFront {
  /** PEM of the authority that it has to be trusted by. */
  readonly ca: string;
  readonly port: number;
  /** How many requests got 429, and how many had to wait. */
  readonly met = { refused: 0, delayed: 0 };
  load: Load = {};
  readonly #server: Server;
  readonly #agent: Agent;
  readonly #target: URL;
  #share = 0;

  private constructor(server: Server, authority: ThrowawayAuthority, target: URL, targetCa: string) {
    this.#server = server;
    this.ca = authority.certificate;
    this.port = (server.address() as AddressInfo).port;
    this.#target = target;
    this.#agent = new Agent({ ca: targetCa, keepAlive: true });
    server.on('request', (incoming: IncomingMessage, outgoing: ServerResponse) => {
      // A client that goes and a server that dies end the other side too.
      void this.#pass(incoming, outgoing).catch(() => outgoing.destroy());
    });
  }

  static async start(target: string, targetCa: string): Promise<ApiFront> {
    const authority = new ThrowawayAuthority();
    const { key, certificate } = authority.server();
    const server = createServer({ key, cert: certificate }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new ApiFront(server, authority, new URL(target), targetCa);
  }

  async stop(): Promise<void> {
    const closed = once(this.#server.close(), 'close');
    this.#server.closeAllConnections();
    this.#agent.destroy();
    await closed;
  }

  async #pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { refused = 0, delayMs = 0 } = this.load;
    // In turn rather than at random, so that two runs are alike.
    this.#share += refused;
    if (this.#share >= 1) {
      this.#share -= 1;
      this.met.refused += 1;
      tooManyRequests(outgoing);
      return;
    }
    if (delayMs > 0) {
      this.met.delayed += 1;
      await pause(delayMs);
    }
    const { method, url, headers } = incoming;
    const target = new URL(url ?? '/', this.#target);
    const passed = request(target, { agent: this.#agent, method, headers: { ...headers, host: target.host } });
    outgoing.once('close', () => passed.destroy());
    const [[response]] = (await Promise.all([once(passed, 'response'), pipeline(incoming, passed)])) as [
      [IncomingMessage],
      void,
    ];
    outgoing.writeHead(response.statusCode ?? 502, response.headers);
    // A watch may have nothing to say for a while, and its client waits for the headers.
    outgoing.flushHeaders();
    await pipeline(response, outgoing);
  }
}

/** As the API server's priority and fairness says it (kubernetes, apiserver/pkg/server/filters/priority-and-fairness.go). */
function tooManyRequests(outgoing: ServerResponse): void {
  outgoing.writeHead(429, { 'content-type': 'text/plain', 'retry-after': String(RETRY_AFTER_S) });
  outgoing.end('Too many requests, please try again later.\n');
}

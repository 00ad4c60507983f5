import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, request } from 'node:https';
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

/** Starts an HTTPS proxy in front of an API server. It passes everything on, unless it throttles
 * or replies itself. */
export async function startThrottlingProxy(targetUrl: string, targetCa: string) {
  const { ca, key, certificate } = await issueServerCertificate();
  const agent = new Agent({ ca: targetCa, keepAlive: true });
  let accumulatedShare = 0;
  const server = createServer({ key, cert: certificate }, (incoming, outgoing) => {
    // If one side closes its connection, the other one must close, too.
    void handle(incoming, outgoing).catch(() => outgoing.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy = {
    /** PEM of the authority that issued its certificate. */
    ca,
    port: (server.address() as AddressInfo).port,
    throttling: {} as Throttling,
    /** The number of requests that were rejected or delayed. */
    throttledRequests: 0,
    /** Bodies that are answered with 200 to requests of exactly this path and query, instead of passing them on. */
    replies: new Map<string, string>(),

    stop() {
      server.close();
      server.closeAllConnections();
      agent.destroy();
    },
  };

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse) {
    const { rejectedShare = 0, delayMs = 0 } = proxy.throttling;
    // In turn rather than at random, so that runs are comparable.
    accumulatedShare += rejectedShare;
    if (accumulatedShare >= 1) {
      accumulatedShare -= 1;
      proxy.throttledRequests += 1;
      // As API Priority and Fairness (kubernetes, apiserver/pkg/server/filters/priority-and-fairness.go).
      outgoing.writeHead(429, { 'content-type': 'text/plain', 'retry-after': '1' });
      outgoing.end('Too many requests, please try again later.\n');
      return;
    }
    if (delayMs > 0) {
      proxy.throttledRequests += 1;
      await pause(delayMs);
    }
    const { method, url = '/', headers } = incoming;
    const reply = proxy.replies.get(url);
    if (reply !== undefined) {
      outgoing.writeHead(200, { 'content-type': 'application/json' });
      outgoing.end(reply);
      return;
    }
    const target = new URL(url, targetUrl);
    const forwarded = request(target, { agent, method, headers: { ...headers, host: target.host } });
    outgoing.once('close', () => forwarded.destroy());
    const responded = once(forwarded, 'response') as Promise<[IncomingMessage]>;
    const [[response]] = await Promise.all([responded, pipeline(incoming, forwarded)]);
    outgoing.writeHead(response.statusCode ?? 502, response.headers);
    // A watch may send nothing for a while, and its client waits for the headers.
    outgoing.flushHeaders();
    await pipeline(response, outgoing);
  }

  return proxy;
}

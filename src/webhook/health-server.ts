import { createServer, type Server } from 'node:http';
import { listen } from './tls-server.ts';

/**
 * Serves the probes. `/healthz`: the process answers. `/readyz`: it serves and has read the cluster once.
 *
 * A later outage of the API server does not make the guard unready, because an unready guard cannot answer
 * MCG_UNVERIFIED.
 */
export class HealthServer {
  readonly #server: Server;

  /** @param whyNotReady returns the reason in a few words, or undefined if the guard is ready */
  constructor(whyNotReady: () => string | undefined) {
    this.#server = createServer({ headersTimeout: 5_000, requestTimeout: 5_000 }, ({ url, method }, response) => {
      const path = url?.split('?')[0];
      const [status, text] = answerProbe(method, path, path === '/readyz' ? whyNotReady() : undefined);
      response.writeHead(status, { 'content-type': 'text/plain', 'cache-control': 'no-store' });
      response.end(`${text}\n`);
    });
  }

  /** As {@link listen}. */
  async listen(port: number, bindAddress: string | undefined): Promise<number> {
    return await listen(this.#server, port, bindAddress);
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }
}

function answerProbe(method = '', path = '', problem?: string): [status: number, text: string] {
  if (path !== '/healthz' && path !== '/readyz') return [404, 'not found: /healthz and /readyz are here'];
  if (method !== 'GET' && method !== 'HEAD') return [405, 'method not allowed'];
  return problem === undefined ? [200, 'ok'] : [503, problem];
}

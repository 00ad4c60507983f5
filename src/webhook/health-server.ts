import { createServer, type Server } from 'node:http';
import { listen } from './tls-server.ts';

/**
 * Serves `/healthz` (the process answers) and `/readyz` (it has also read the cluster once). A later outage
 * of the API server does not make the guard unready, because an unready guard cannot answer MCG_UNVERIFIED.
 */
export class HealthServer {
  readonly #server: Server;

  /** @param findProblem returns a short reason, or undefined if the guard is ready */
  constructor(findProblem: () => string | undefined) {
    this.#server = createServer(
      { headersTimeout: 5_000, requestTimeout: 5_000 },
      ({ url, method }, response) => {
        const path = url?.split('?')[0];
        const [status, text] = answerProbe(method, path, path === '/readyz' ? findProblem() : undefined);
        response.writeHead(status, { 'content-type': 'text/plain', 'cache-control': 'no-store' });
        response.end(`${text}\n`);
      },
    );
  }

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

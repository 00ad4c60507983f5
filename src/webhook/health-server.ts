import { createServer, type Server } from 'node:http';
import { listen } from './tls-server.ts';

/** Why the guard is not ready, in a few words, or undefined when it is. */
export type NotReady = () => string | undefined;

/**
 * `/healthz`: the process answers. `/readyz`: it serves and has read the cluster once. An API server that is lost later
 * does not make it unready: that would empty the Service and turn "could not verify" into "no endpoints".
 */
export class HealthServer {
  readonly #server: Server;

  constructor(notReady: NotReady) {
    this.#server = createServer((request, response) => {
      const path = request.url?.split('?')[0];
      const isRead = request.method === 'GET' || request.method === 'HEAD';
      const problem = path === '/readyz' ? notReady() : undefined;
      const known = path === '/healthz' || path === '/readyz';
      const [status, text] = !known
        ? ([404, 'not found: /healthz and /readyz are here'] as const)
        : !isRead
          ? ([405, 'method not allowed'] as const)
          : problem === undefined
            ? ([200, 'ok'] as const)
            : ([503, problem] as const);
      response.writeHead(status, { 'content-type': 'text/plain', 'cache-control': 'no-store' });
      response.end(`${text}\n`);
    });
    this.#server.headersTimeout = 5_000;
    this.#server.requestTimeout = 5_000;
  }

  /** Begins to listen; port 0 picks a free one. Throws the system's error. */
  async listen(port: number, bindAddress: string | undefined): Promise<number> {
    return await listen(this.#server, port, bindAddress);
  }

  /** Stops at once: probes are not worth waiting for. */
  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.close(() => {
        resolve();
      });
      this.#server.closeAllConnections();
    });
  }
}

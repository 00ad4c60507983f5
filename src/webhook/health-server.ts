import { createServer, type Server } from 'node:http';
import { ConnectionLimiter } from './connection-limiter.ts';
import { listen } from './tls-server.ts';

/** The kubelet opens a connection for each probe. */
const MAX_CONNECTIONS = 100;
const MAX_HEADER_BYTES = 4_096;

/**
 * Serves `/healthz` (the process answers) and `/readyz` (it has also read the cluster once). A later outage
 * of the API server does not make the guard unready, because an unready guard cannot answer MCG_UNVERIFIED.
 */
export class HealthServer {
  readonly #server: Server;

  /** @param findProblem returns a short reason, or undefined if the guard is ready */
  constructor(findProblem: () => string | undefined) {
    const connections = new ConnectionLimiter(MAX_CONNECTIONS);
    this.#server = createServer(
      {
        headersTimeout: 5_000,
        requestTimeout: 5_000,
        connectionsCheckingInterval: 1_000,
        maxHeaderSize: MAX_HEADER_BYTES,
      },
      (request, response) => {
        if (!connections.trackRequest(request, response)) return;
        const { url, method } = request;
        const path = url?.split('?')[0];
        const [status, text] = answerProbe(method, path, path === '/readyz' ? findProblem() : undefined);
        response.writeHead(status, {
          'content-type': 'text/plain',
          'cache-control': 'no-store',
          connection: 'close',
        });
        response.end(`${text}\n`);
      },
    );
    this.#server.on('connection', (socket) => connections.add(socket));
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

import { createServer, type Server } from 'node:http';
import type { Response } from 'express';
import { ConnectionLimiter } from './connection-limiter.ts';
import { createEndpointApp, sendText } from './endpoint-app.ts';

/** The kubelet opens a connection for each probe. */
const MAX_CONNECTIONS = 100;
const TIMEOUTS = { headersTimeout: 5_000, connectionsCheckingInterval: 1_000 };

/**
 * Serves `/healthz` (the process answers) and `/readyz` (it has also read the cluster once). A later outage
 * of the API server does not make the guard unready, because an unready guard cannot answer MCG_UNVERIFIED.
 */
export function createHealthServer(findProblem: () => string | undefined): Server {
  const app = createEndpointApp(
    'get',
    {
      '/healthz': [(_request, response) => answer(response)],
      '/readyz': [(_request, response) => answer(response, findProblem())],
    },
    '/healthz and /readyz are here',
  );
  const server = createServer({ ...TIMEOUTS, maxHeaderSize: 4_096 });
  new ConnectionLimiter(MAX_CONNECTIONS).serve(server, app);
  return server;
}

function answer(response: Response, problem?: string): void {
  sendText(response.set('cache-control', 'no-store'), problem === undefined ? 200 : 503, problem ?? 'ok');
}

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { PassThrough, pipeline } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { KeyPair } from '../../../src/certificates/key-pair.ts';
import { listen } from '../../../src/serving/tls-server.ts';
import { buildKubeconfig } from '../kubeconfig.ts';
import { type ClusterRequest, handleRequest } from './handle-request.ts';
import type { InMemoryCluster } from './in-memory-cluster.ts';

export interface ApiServerOptions {
  readonly cluster: InMemoryCluster;
  readonly ca: string;
  readonly leaf: KeyPair;
  /** Gets every request first. Returns whether it answered. */
  readonly onRequest?: (request: IncomingMessage, response: ServerResponse) => boolean;
}

const HOST = '127.0.0.1';

/** Serves an in-memory cluster over HTTPS. Every client is the administrator. */
export class ApiServer {
  readonly #options: ApiServerOptions;
  readonly #server: Server;
  #port = 0;

  constructor(options: ApiServerOptions) {
    const { certificatePem, privateKeyPem } = options.leaf;
    this.#options = options;
    // As in Go, only the client closes a connection.
    const settings = { key: privateKeyPem, cert: certificatePem, keepAliveTimeout: 0, requestTimeout: 0 };
    this.#server = createServer(settings, (request, response) => {
      void this.#answer(request, response);
    });
  }

  get url(): string {
    return `https://${HOST}:${this.#port}`;
  }

  createKubeconfig(): string {
    return buildKubeconfig(this.url, { token: randomUUID() }, { name: 'in-memory', ca: this.#options.ca });
  }

  /** Listens on a free port, and again on this port after {@link stop}. */
  async start(): Promise<void> {
    this.#port = await listen(this.#server, this.#port, HOST);
  }

  async stop(): Promise<void> {
    const isClosed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await isClosed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { cluster, onRequest } = this.#options;
    if (onRequest?.(request, response) === true) return;
    const { method = '', url: path = '/', headers } = request;
    const payload = await text(request);
    const sent: unknown = payload === '' ? undefined : JSON.parse(payload);
    const { accept, 'content-type': contentType } = headers;
    await sendAnswer(cluster, { method, path, accept, contentType, body: sent }, response);
  }
}

/** Sends the answer of a cluster as an API server does. That to a watch goes on. */
export async function sendAnswer(
  cluster: InMemoryCluster,
  request: ClusterRequest,
  response: ServerResponse,
): Promise<void> {
  const { status, body } = await handleRequest(cluster, request);
  const isText = typeof body === 'string';
  response.writeHead(status, { 'content-type': isText ? 'text/plain; charset=utf-8' : 'application/json' });
  if (!(body instanceof PassThrough)) return void response.end(isText ? body : JSON.stringify(body));
  response.flushHeaders();
  pipeline(body, response, () => {});
}

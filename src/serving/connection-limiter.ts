import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

interface Connection {
  readonly socket: Socket;
  readonly request?: IncomingMessage;
  readonly response?: ServerResponse;
}

/**
 * Limits the open connections. `server.maxConnections` would reject the API server while a client keeps
 * thousands of silent ones.
 *
 * Beyond the limit, of the connections that wait for no answer, the one closes whose last request is the oldest. A
 * complete request is always answered: if no connection can close, the new one does.
 */
export class ConnectionLimiter {
  readonly #max: number;
  /** By the client's address and port, which a TLS socket shares with its TCP socket. In the order of requests. */
  readonly #connections = new Map<string, Connection>();

  constructor(max: number) {
    this.#max = max;
  }

  serve(server: Server, app: RequestListener): void {
    // The size of all headers has a limit. With a limit of their number, Node would hide the one that announces chunks.
    server.maxHeadersCount = 0;
    server.on('connection', (socket: Socket) => this.add(socket));
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      if (this.#trackRequest(request, response)) app(request, response);
    });
  }

  add(socket: Socket): void {
    const key = keyOf(socket);
    if (this.#connections.size >= this.#max && !this.#closeOne()) {
      socket.destroy();
      return;
    }
    this.#connections.set(key, { socket });
    socket.once('close', () => {
      if (this.#connections.get(key)?.socket === socket) this.#connections.delete(key);
    });
  }

  /**
   * Returns whether the request may be handled. The API server sends one request at a time, and its length. Thousands
   * of small requests or chunks in one packet would hold the event loop, so the connection closes.
   */
  #trackRequest(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request;
    const key = keyOf(socket);
    const connection = this.#connections.get(key);
    const isPipelined = connection?.response?.writableEnded === false;
    if (connection === undefined || isPipelined || request.headers['transfer-encoding'] !== undefined) {
      socket.destroy();
      return false;
    }
    this.#connections.delete(key);
    this.#connections.set(key, { ...connection, request, response });
    return true;
  }

  /** Returns false if every connection waits for an answer. */
  #closeOne(): boolean {
    const victim = [...this.#connections].find(([, { request, response }]) => {
      return request?.complete !== true || response?.writableEnded !== false;
    });
    if (victim === undefined) return false;
    const [key, { socket }] = victim;
    this.#connections.delete(key);
    socket.destroy();
    return true;
  }
}

function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

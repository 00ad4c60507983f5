import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

interface Connection {
  readonly socket: Socket;
  /** Whether it has delivered a review of an existing config. */
  isTrusted: boolean;
  request?: IncomingMessage;
  response?: ServerResponse;
}

/**
 * Limits the open connections. `server.maxConnections` would reject the API server while a client keeps
 * thousands of silent ones.
 *
 * Beyond the limit the oldest connection closes that is not trusted and waits for no answer, then the oldest trusted
 * one without a request. A complete request is always answered: if no connection can close, the new one does.
 */
export class ConnectionLimiter {
  readonly #max: number;
  /** By the client's address and port, which a TLS socket shares with its TCP socket. Oldest first. */
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
    const connection: Connection = { socket, isTrusted: false };
    if (this.#connections.size >= this.#max && !this.#closeOne()) {
      socket.destroy();
      return;
    }
    this.#connections.set(key, connection);
    socket.once('close', () => {
      if (this.#connections.get(key) === connection) this.#connections.delete(key);
    });
  }

  /**
   * Returns whether the request may be handled. The API server sends one request at a time, and its length. Thousands
   * of small requests or chunks in one packet would hold the event loop, so the connection closes.
   */
  #trackRequest(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request;
    const connection = this.#find(socket);
    const isPipelined = connection?.response?.writableEnded === false;
    if (connection === undefined || isPipelined || request.headers['transfer-encoding'] !== undefined) {
      socket.destroy();
      return false;
    }
    Object.assign(connection, { request, response });
    return true;
  }

  isTrusted(socket: Socket): boolean {
    return this.#find(socket)?.isTrusted === true;
  }

  setTrusted(socket: Socket): void {
    const connection = this.#find(socket);
    if (connection !== undefined) connection.isTrusted = true;
  }

  #find(socket: Socket): Connection | undefined {
    return this.#connections.get(keyOf(socket));
  }

  /** Returns false if every connection waits for an answer. */
  #closeOne(): boolean {
    const connections = [...this.#connections];
    const victim =
      connections.find(([, connection]) => !connection.isTrusted && !isAwaitingAnswer(connection)) ??
      connections.find(([, { response }]) => response?.writableEnded !== false);
    if (victim === undefined) return false;
    const [key, { socket }] = victim;
    this.#connections.delete(key);
    socket.destroy();
    return true;
  }
}

function isAwaitingAnswer({ request, response }: Connection): boolean {
  return request?.complete === true && response?.writableEnded === false;
}

function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

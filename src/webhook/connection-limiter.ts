import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * A connection is trusted once it has delivered a review of an existing config, and untrusted once it has
 * delivered another review.
 */
export type Trust = 'trusted' | 'unknown' | 'untrusted';

interface Connection {
  readonly socket: Socket;
  trust: Trust;
  /** The requests whose answer has not left completely. */
  readonly requests: Map<IncomingMessage, ServerResponse>;
  /** Answers the request whose body is arriving. */
  answerEarly?: (() => void) | undefined;
}

/** Time for an early answer to leave. */
const EVICTION_MS = 1_000;
/** The longest timeout of a webhook. A client that reads no answer must not keep its connection. */
const REQUEST_MS = 30_000;

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

  add(socket: Socket): void {
    const key = keyOf(socket);
    const connection: Connection = { socket, trust: 'unknown', requests: new Map() };
    if (this.#connections.size >= this.#max && !this.#evictOne()) {
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
  trackRequest(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request;
    if (socket.destroyed) return false;
    const connection = this.#find(socket);
    const isPipelined = [...(connection?.requests.values() ?? [])].some(({ writableEnded }) => !writableEnded);
    if (isPipelined || request.headers['transfer-encoding'] !== undefined) {
      socket.destroy();
      return false;
    }
    connection?.requests.set(request, response);
    const timer = setTimeout(() => socket.destroy(), REQUEST_MS).unref();
    response.once('close', () => {
      clearTimeout(timer);
      connection?.requests.delete(request);
    });
    return true;
  }

  trustOf(socket: Socket): Trust {
    return this.#find(socket)?.trust ?? 'untrusted';
  }

  /** A trusted connection stays trusted. */
  setTrust(socket: Socket, trust: 'trusted' | 'untrusted'): void {
    const connection = this.#find(socket);
    if (connection !== undefined && connection.trust !== 'trusted') connection.trust = trust;
  }

  /** @param answerEarly answers the request whose body is arriving, and closes the connection; undefined resets */
  onEviction(socket: Socket, answerEarly: (() => void) | undefined): void {
    const connection = this.#find(socket);
    if (connection !== undefined) connection.answerEarly = answerEarly;
  }

  #find(socket: Socket): Connection | undefined {
    return this.#connections.get(keyOf(socket));
  }

  /** Returns false if every connection waits for an answer. */
  #evictOne(): boolean {
    const connections = [...this.#connections];
    const victim =
      connections.find(([, connection]) => connection.trust !== 'trusted' && !isAwaitingAnswer(connection)) ??
      connections.find(([, { requests }]) => requests.size === 0);
    if (victim === undefined) return false;
    const [key, { socket, answerEarly }] = victim;
    this.#connections.delete(key);
    if (answerEarly === undefined) {
      socket.destroy();
    } else {
      answerEarly();
      setTimeout(() => socket.destroy(), EVICTION_MS).unref();
    }
    return true;
  }
}

function isAwaitingAnswer({ requests }: Connection): boolean {
  return [...requests].some(([{ complete }, { writableEnded }]) => complete && !writableEnded);
}

function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

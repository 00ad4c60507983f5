import type { IncomingMessage, Server as HttpServer } from 'node:http';
import { Agent } from 'node:https';
import { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { vi } from 'vitest';
import type { VirtualClock } from './clock.ts';

/** Node counts only the connections that it has accepted itself, and waits for them when it closes a server. */
function countConnections(server: HttpServer, change: number): void {
  Reflect.set(server, '_connections', Number(Reflect.get(server, '_connections')) + change);
  const emitCloseIfDrained = Reflect.get(server, '_emitCloseIfDrained') as () => void;
  if (!server.listening) emitCloseIfDrained.call(server);
}

function createReset(): Error {
  return Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
}

/** A connection. Both ends share it. */
class Link {
  readonly host: string;
  isFrozen = false;
  readonly #clock: VirtualClock;
  #held: (() => void)[] = [];

  constructor(host: string, clock: VirtualClock) {
    this.host = host;
    this.#clock = clock;
  }

  /** A frozen connection keeps its packets, in order. */
  deliver(packet: () => void): void {
    if (this.isFrozen) this.#held.push(packet);
    else this.#clock.deliver(packet);
  }

  thaw(): void {
    this.isFrozen = false;
    for (const packet of this.#held.splice(0)) this.deliver(packet);
  }
}

/** One end of a connection. `node:http` and `node:tls` use it as a socket. */
export class VirtualSocket extends Duplex {
  /** For `Agent`, which compares it. */
  timeout = 0;
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly link: Link;
  peer!: VirtualSocket;

  constructor(link: Link, port: number) {
    super({ allowHalfOpen: false });
    this.link = link;
    this.remoteAddress = link.host;
    this.remotePort = port;
  }

  override _read(): void {
    // The peer pushes.
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error) => void): void {
    this.link.deliver(() => {
      if (this.peer.destroyed) {
        done(createReset());
        return;
      }
      this.peer.push(chunk);
      done();
    });
  }

  override _final(done: () => void): void {
    this.link.deliver(() => {
      this.peer.push(null);
      done();
    });
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.setTimeout(0);
    this.link.deliver(() => {
      if (!this.peer.readableEnded && !this.peer.destroyed) this.peer.push(null);
    });
    done(error);
  }

  setTimeout(ms: number, onTimeout?: () => void): this {
    startTimeout(this, ms, onTimeout);
    return this;
  }

  setKeepAlive = (): this => this;
  setNoDelay = (): this => this;
  ref = (): this => this;
  unref = (): this => this;
}

const INTERVAL = 'connectionsCheckingInterval';
const timers = new WeakMap<Duplex, NodeJS.Timeout>();

/** As `Socket.setTimeout`, which has timers of its own. Traffic does not start it again: no caller relies on that. */
function startTimeout(socket: Duplex & { timeout?: number | undefined }, ms: number, onTimeout?: () => void): void {
  clearTimeout(timers.get(socket));
  socket.timeout = ms;
  if (onTimeout !== undefined && ms === 0) socket.removeListener('timeout', onTimeout);
  else if (onTimeout !== undefined) socket.once('timeout', onTimeout);
  if (ms > 0)
    timers.set(
      socket,
      setTimeout(() => socket.emit('timeout'), ms),
    );
}

/** Connections within this process. It replaces those of the guard's client until the end of the test. */
export class VirtualNetwork {
  readonly clock: VirtualClock;
  /** Hosts to which new connections are refused, or stay silent. */
  readonly refused = new Set<string>();
  readonly silent = new Set<string>();
  readonly #links = new Map<Link, VirtualSocket>();
  readonly #servers = new Map<string, HttpServer>();
  /** The hosts whose servers listened on a port. */
  readonly #listening = new Set<string>();
  /** Of connections without a request, by the port of the client. */
  readonly #headerTimeouts = new Map<number | undefined, NodeJS.Timeout>();
  #port = 30_000;

  constructor(clock: VirtualClock) {
    this.clock = clock;
    vi.spyOn(Agent.prototype, 'createConnection').mockImplementation(((options: { host: string }) =>
      this.connect(options.host)) as never);
    vi.spyOn(Socket.prototype, 'setTimeout').mockImplementation(function (this: Socket, ms, onTimeout) {
      startTimeout(this, ms, onTimeout);
      return this;
    });
  }

  /** Connections to this host reach the server. */
  serve(host: string, server: HttpServer): void {
    this.#servers.set(host, server);
    if (server.listening) this.#listening.add(host);
    server.prependListener('secureConnection', (socket: TLSSocket) => {
      copyAddress(socket);
      this.#limitHeaders(server, socket);
    });
    server.on('request', ({ socket }: IncomingMessage) => clearTimeout(this.#headerTimeouts.get(socket.remotePort)));
  }

  connect(host: string): VirtualSocket {
    const link = new Link(host, this.clock);
    this.#port += 1;
    const [client, accepted] = [new VirtualSocket(link, this.#port), new VirtualSocket(link, this.#port)];
    client.peer = accepted;
    accepted.peer = client;
    accepted.on('error', () => {});
    if (this.refused.has(host) || this.#isClosed(host)) {
      const error = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
      this.clock.deliver(() => client.destroy(error));
      return client;
    }
    this.#links.set(link, client);
    accepted.once('close', () => this.#links.delete(link));
    if (this.silent.has(host)) link.isFrozen = true;
    else this.#accept(host, accepted);
    return client;
  }

  /** All open connections to a host stay open and silent. `thaw` delivers what was sent meanwhile. */
  freeze(host: string): void {
    for (const link of this.#findLinks(host)) link.isFrozen = true;
  }

  thaw(host: string): void {
    for (const link of this.#findLinks(host)) link.thaw();
  }

  /** Resets all open connections to a host. */
  reset(host: string): void {
    for (const link of this.#findLinks(host)) {
      const client = this.#links.get(link);
      client?.peer.destroy();
      client?.destroy(createReset());
    }
  }

  countOpen(host: string): number {
    return this.#findLinks(host).length;
  }

  /** Whether the server has stopped listening. */
  #isClosed(host: string): boolean {
    return this.#listening.has(host) && this.#servers.get(host)?.listening === false;
  }

  #findLinks(host: string): readonly Link[] {
    return [...this.#links.keys()].filter((link) => link.host === host);
  }

  #accept(host: string, socket: VirtualSocket): void {
    const server = this.#servers.get(host);
    if (server === undefined) throw new Error(`no server on ${host}`);
    if (server.listening) {
      countConnections(server, 1);
      socket.once('close', () => countConnections(server, -1));
      if (!('setSecureContext' in server)) this.#limitHeaders(server, socket);
    }
    server.emit('connection', socket);
  }

  /** Node measures this with a clock of its own, in intervals. Later requests of a connection have no limit here. */
  #limitHeaders(server: HttpServer, socket: VirtualSocket | TLSSocket): void {
    const { headersTimeout, connectionsCheckingInterval } = server as HttpServer & Record<typeof INTERVAL, number>;
    const timer = setTimeout(() => socket.destroy(), headersTimeout + connectionsCheckingInterval);
    this.#headerTimeouts.set(socket.remotePort, timer);
    socket.once('close', () => clearTimeout(timer));
  }
}

/** Node reads the address of a TLS connection from the kernel. The guard tells connections apart by it. */
function copyAddress(socket: TLSSocket): void {
  type Wrapped = Readonly<
    Record<'_handle', Readonly<Record<'_parentWrap', Readonly<Record<'stream', VirtualSocket>>>>>
  >;
  const { _handle: handle } = socket as unknown as Wrapped;
  const { _parentWrap: wrap } = handle;
  const { remoteAddress, remotePort } = wrap.stream;
  Object.defineProperties(socket, { remoteAddress: { value: remoteAddress }, remotePort: { value: remotePort } });
}

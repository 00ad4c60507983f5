import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A TCP proxy on 127.0.0.1 that can fail as networks do. */
export class TcpProxy {
  readonly port: number;
  readonly #targetPort: number;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  readonly #silentSockets = new Set<Socket>();
  /** The number of connections so far. */
  accepted = 0;
  #server: Server;
  #isSilent = false;

  private constructor(server: Server, targetPort: number) {
    this.#server = server;
    this.#targetPort = targetPort;
    this.port = (server.address() as AddressInfo).port;
    server.on('connection', (socket: Socket) => this.#accept(socket));
  }

  static async start(targetPort: number): Promise<TcpProxy> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new TcpProxy(server, targetPort);
  }

  /** Resets the open connections and refuses new ones. */
  async refuse(): Promise<void> {
    const closed = this.#server.listening ? once(this.#server.close(), 'close') : Promise.resolve();
    this.#dropConnections();
    await closed;
  }

  /** Delivers nothing any more. Connections stay open, and new ones are accepted. */
  silence(): void {
    this.#isSilent = true;
    this.freeze();
  }

  /** Delivers nothing any more on the open connections. New connections work. */
  freeze(): void {
    for (const [client, upstream] of this.#pairs) {
      client.unpipe(upstream).pause();
      upstream.unpipe(client).pause();
    }
  }

  /** Works again. Resets the open connections, because bytes of them are lost. */
  async resume(): Promise<void> {
    this.#isSilent = false;
    this.#dropConnections();
    if (this.#server.listening) return;
    this.#server = createServer((socket) => this.#accept(socket)).listen(this.port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  #accept(client: Socket): void {
    this.accepted += 1;
    client.on('error', () => undefined);
    if (this.#isSilent) {
      this.#silentSockets.add(client.pause());
      client.once('close', () => this.#silentSockets.delete(client));
      return;
    }
    // Otherwise a message of two writes waits 40 ms for an acknowledgement, a delay that no network has.
    client.setNoDelay();
    const upstream = connect({ port: this.#targetPort, host: '127.0.0.1', noDelay: true });
    upstream.on('error', () => undefined);
    const pair = [client, upstream] as const;
    this.#pairs.add(pair);
    const end = () => {
      this.#pairs.delete(pair);
      client.destroy();
      upstream.destroy();
    };
    client.once('close', end);
    upstream.once('close', end);
    client.pipe(upstream);
    upstream.pipe(client);
  }

  #dropConnections(): void {
    for (const socket of [...this.#silentSockets, ...[...this.#pairs].flat()]) socket.resetAndDestroy();
  }
}

import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/**
 * Stands between a client and a server on 127.0.0.1 and fails as networks do: `refuse` (nobody listens, open connections
 * are reset), `swallow` (connections stay open and new ones are accepted, but nothing gets through any more), `freeze` (the same of those that
 * are open, not of new ones) and back.
 */
export class TcpProxy {
  readonly port: number;
  readonly #targetPort: number;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  readonly #silent = new Set<Socket>();
  /** Connections that were accepted so far. */
  accepted = 0;
  #server: Server;
  #swallowing = false;

  private constructor(server: Server, targetPort: number) {
    this.#server = server;
    this.#targetPort = targetPort;
    this.port = (server.address() as AddressInfo).port;
    server.on('connection', (socket: Socket) => this.#accept(socket));
  }

  /** On 127.0.0.1 unless another address is named. */
  static async start(targetPort: number, address = '127.0.0.1'): Promise<TcpProxy> {
    const server = createServer().listen(0, address);
    await once(server, 'listening');
    return new TcpProxy(server, targetPort);
  }

  /** From now on: connection reset, then connection refused. */
  async refuse(): Promise<void> {
    const closed = this.#server.listening ? once(this.#server.close(), 'close') : Promise.resolve();
    this.#dropConnections();
    await closed;
  }

  /** From now on: silence. What is under way gets no answer and no end. */
  swallow(): void {
    this.#swallowing = true;
    this.freeze();
  }

  /** The connections that are open now stay so and carry nothing any more; new ones work. */
  freeze(): void {
    for (const [client, upstream] of this.#pairs) {
      client.unpipe(upstream).pause();
      upstream.unpipe(client).pause();
    }
  }

  /** Works again. Connections that were swallowed are reset: their bytes are lost. */
  async resume(): Promise<void> {
    this.#swallowing = false;
    this.#dropConnections();
    if (this.#server.listening) return;
    this.#server = createServer((socket) => this.#accept(socket)).listen(this.port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  async stop(): Promise<void> {
    await this.refuse();
  }

  #accept(client: Socket): void {
    this.accepted += 1;
    client.on('error', () => undefined);
    if (this.#swallowing) {
      this.#silent.add(client.pause());
      client.once('close', () => this.#silent.delete(client));
      return;
    }
    // Without it, what is written in two pieces waits 40 ms for an acknowledgement: a delay that no network has.
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
    for (const socket of [...this.#silent, ...[...this.#pairs].flat()]) socket.resetAndDestroy();
  }
}

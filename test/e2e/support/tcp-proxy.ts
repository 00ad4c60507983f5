import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A TCP proxy on 127.0.0.1 that can fail as networks do. */
export class TcpProxy {
  readonly port: number;
  readonly #server: Server;
  readonly #targetPort: number;
  readonly #delayMs: number;
  readonly #sockets = new Set<Socket>();
  #isSilent = false;

  private constructor(server: Server, targetPort: number, delayMs: number) {
    this.#server = server;
    this.#targetPort = targetPort;
    this.#delayMs = delayMs;
    this.port = (server.address() as AddressInfo).port;
    server.on('connection', (socket: Socket) => this.#accept(socket));
  }

  /** @param options `delayMs` is how late the answers of the target arrive */
  static async start(targetPort: number, { delayMs = 0 } = {}) {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new TcpProxy(server, targetPort, delayMs);
  }

  /** Resets the open connections and refuses new ones. */
  async refuse() {
    const closed = this.#server.listening && once(this.#server.close(), 'close');
    this.#dropConnections();
    await closed;
  }

  /** Delivers nothing any more. Connections stay open, and new ones are accepted. */
  silence() {
    this.#isSilent = true;
    for (const socket of this.#sockets) socket.unpipe().pause();
  }

  /** Works again. Resets the open connections, because bytes of them are lost. */
  async resume() {
    this.#isSilent = false;
    this.#dropConnections();
    if (!this.#server.listening) await once(this.#server.listen(this.port, '127.0.0.1'), 'listening');
  }

  #accept(client: Socket) {
    this.#track(client);
    if (this.#isSilent) {
      client.pause();
      return;
    }
    // Otherwise a message of two writes waits 40 ms for an acknowledgement, a delay that no network has.
    client.setNoDelay();
    const upstream = connect({ port: this.#targetPort, host: '127.0.0.1', noDelay: true });
    this.#track(upstream);
    client.once('close', () => upstream.destroy());
    upstream.once('close', () => client.destroy());
    client.pipe(upstream);
    if (this.#delayMs === 0) upstream.pipe(client);
    else upstream.on('data', (chunk: Buffer) => setTimeout(() => client.write(chunk), this.#delayMs));
  }

  #track(socket: Socket) {
    this.#sockets.add(socket);
    socket.on('error', () => undefined).once('close', () => this.#sockets.delete(socket));
  }

  #dropConnections() {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }
}

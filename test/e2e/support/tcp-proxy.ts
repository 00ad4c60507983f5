import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export type TcpProxy = Awaited<ReturnType<typeof startTcpProxy>>;

/**
 * Starts a TCP proxy on 127.0.0.1 that can fail as networks do.
 * @param options `delayMs` is how late the answers of the target arrive
 */
export async function startTcpProxy(targetPort: number, { delayMs = 0 } = {}) {
  const sockets = new Set<Socket>();
  let isSilent = false;
  const track = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
  };
  const dropConnections = () => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  const server = createServer((client) => {
    track(client);
    if (isSilent) {
      client.pause();
      return;
    }
    // Otherwise a message of two writes waits 40 ms for an acknowledgement, a delay that no network has.
    client.setNoDelay();
    const upstream = connect({ port: targetPort, host: '127.0.0.1', noDelay: true });
    track(upstream);
    client.once('close', () => upstream.destroy());
    upstream.once('close', () => client.destroy());
    client.pipe(upstream);
    if (delayMs === 0) upstream.pipe(client);
    else upstream.on('data', (chunk: Buffer) => setTimeout(() => client.write(chunk), delayMs));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    /** Resets the open connections and refuses new ones. */
    refuse: async () => {
      const closed = server.listening && once(server.close(), 'close');
      dropConnections();
      await closed;
    },
    /** Delivers nothing any more. Connections stay open, and new ones are accepted. */
    silence: () => {
      isSilent = true;
      for (const socket of sockets) socket.unpipe().pause();
    },
    /** Works again. Resets the open connections, because bytes of them are lost. */
    resume: async () => {
      isSilent = false;
      dropConnections();
      if (!server.listening) await once(server.listen(port, '127.0.0.1'), 'listening');
    },
  };
}

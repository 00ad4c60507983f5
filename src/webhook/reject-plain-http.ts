import type { Server } from 'node:https';
import type { Socket } from 'node:net';

/** First byte of every TLS connection: the record type "handshake" (RFC 8446, section 5.1). */
const HANDSHAKE = 0x16;
/** A client that has connected and says nothing is let go. Go's servers, which the API server talks to otherwise, wait as long. */
const FIRST_BYTE_MS = 10_000;

const ANSWER =
  'HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nThis port speaks HTTPS, and the request came as plain HTTP.\n';

/**
 * Gives plain HTTP on the TLS port an answer that a person understands, where Node would only close the connection. Looks
 * at the first byte and hands everything that is TLS on, untouched.
 */
export function rejectPlainHttp(server: Server): void {
  const startTls = server.listeners('connection') as ((socket: Socket) => void)[];
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    const onTimeout = (): void => {
      socket.destroy();
    };
    const onReadable = (): void => {
      const first = socket.read(1) as Buffer | null;
      if (first === null) {
        // The other side has closed without a word.
        if (socket.readableEnded) socket.destroy();
        return;
      }
      socket.off('readable', onReadable);
      socket.off('error', onTimeout);
      socket.off('timeout', onTimeout);
      socket.setTimeout(0);
      if (first[0] === HANDSHAKE) {
        socket.unshift(first);
        for (const start of startTls) start.call(server, socket);
      } else {
        socket.on('error', onTimeout);
        socket.end(ANSWER, () => {
          socket.destroy();
        });
      }
    };
    socket.on('error', onTimeout);
    socket.on('end', onTimeout);
    socket.setTimeout(FIRST_BYTE_MS, onTimeout);
    socket.on('readable', onReadable);
  });
}

import type { Server } from 'node:https';
import type { Socket } from 'node:net';
import { formatResponse } from './malformed-requests.ts';

/** First byte of every TLS connection: the record type "handshake" (RFC 8446, section 5.1). */
const HANDSHAKE = 0x16;
/** A silent client is disconnected after this time, as in Go's servers. */
const FIRST_BYTE_MS = 10_000;

const TEXT = 'This port speaks HTTPS, and the request came as plain HTTP.\n';

/** Answers plain HTTP on the TLS port with a sentence for a person. Node would only close the connection. */
export function rejectPlainHttp(server: Server): void {
  const startTls = server.listeners('connection') as ((socket: Socket) => void)[];
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    const destroy = (): void => {
      socket.destroy();
    };
    const onReadable = (): void => {
      const firstByte = socket.read(1) as Buffer | null;
      if (firstByte === null) return;
      socket.off('readable', onReadable);
      socket.off('timeout', destroy);
      socket.setTimeout(0);
      if (firstByte[0] === HANDSHAKE) {
        socket.off('error', destroy);
        socket.unshift(firstByte);
        for (const start of startTls) start.call(server, socket);
      } else {
        socket.end(formatResponse('400 Bad Request', TEXT), destroy);
      }
    };
    socket.on('error', destroy);
    socket.on('end', destroy);
    socket.setTimeout(FIRST_BYTE_MS, destroy);
    socket.on('readable', onReadable);
  });
}

import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';

/** A handshake takes about a millisecond of the event loop. */
const MAX_HANDSHAKES_PER_TURN = 8;

/**
 * Starts few TLS handshakes in one turn of the event loop, so that hundreds of new connections at once delay no
 * answer. Takes the place of the server's own listener for new connections.
 *
 * @param onConnection called for each connection before its handshake; may destroy it
 */
export function paceHandshakes(server: EventEmitter, onConnection: (socket: Socket) => void): void {
  const startHandshakes = server.listeners('connection') as ((this: EventEmitter, socket: Socket) => void)[];
  server.removeAllListeners('connection');
  const waiting: Socket[] = [];
  const startNext = (): void => {
    for (const socket of waiting.splice(0, MAX_HANDSHAKES_PER_TURN)) {
      if (!socket.destroyed) for (const start of startHandshakes) start.call(server, socket);
    }
    if (waiting.length > 0) setImmediate(startNext);
  };
  server.on('connection', (socket: Socket) => {
    onConnection(socket);
    // A client can reset the connection while it waits.
    socket.on('error', () => {});
    waiting.push(socket);
    if (waiting.length === 1) setImmediate(startNext);
  });
}

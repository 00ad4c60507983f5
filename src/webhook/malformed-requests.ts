import type { IncomingMessage } from 'node:http';
import type { Server } from 'node:https';
import type { Duplex } from 'node:stream';

/** What Node's parser says (llhttp's names and its own), and how a client is told. Everything else it refuses is a 400. */
const STATUS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Content Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};
const TEXT = 'The guard cannot read this request.\n';
/** A client that is still sending must have read the answer before the connection is gone. */
const LINGER_MS = 1_000;

/**
 * Answers what is no HTTP request and closes the connection.
 *
 * Node would do the same, but loses its answer where more bytes come after those that it cannot read: to them it replies by cutting
 * the connection off. And it forgets the requests before, which may have been good ones and are still being judged.
 */
export function answerMalformedRequests(server: Server): void {
  const requests = new WeakMap<Duplex, Set<IncomingMessage>>();
  const closing = new WeakSet<Duplex>();
  server.on('request', (request, response) => {
    const { socket } = request;
    const unanswered = requests.get(socket) ?? new Set();
    requests.set(socket, unanswered.add(request));
    response.once('close', () => {
      unanswered.delete(request);
      socket.emit('answered');
    });
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    const { code = '' } = error;
    if (!socket.writable || !/^(?:HPE|ERR_HTTP)_/.test(code)) {
      // A TLS error, a reset, or one more of what has been answered below.
      if (!closing.has(socket)) socket.destroy();
      return;
    }
    if (closing.has(socket)) return;
    closing.add(socket);
    const refuse = (): void => {
      // Of the one that cannot be read to its end, this is the answer.
      if ([...(requests.get(socket) ?? [])].some(({ complete }) => complete)) return;
      socket.off('answered', refuse);
      if (socket.writable) socket.end(refusal(STATUS[code] ?? '400 Bad Request'));
      setTimeout(() => {
        socket.destroy();
      }, LINGER_MS).unref();
    };
    socket.on('answered', refuse);
    refuse();
  });
}

function refusal(status: string): string {
  const head = [
    `HTTP/1.1 ${status}`,
    'Content-Type: text/plain',
    `Content-Length: ${TEXT.length}`,
    'Connection: close',
  ];
  return `${head.join('\r\n')}\r\n\r\n${TEXT}`;
}

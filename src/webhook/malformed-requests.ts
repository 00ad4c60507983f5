import type { IncomingMessage } from 'node:http';
import type { Server } from 'node:https';
import type { Duplex } from 'node:stream';

/** Codes of Node's parser (llhttp's names and its own). All others mean 400. */
const STATUS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Content Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};
const TEXT = 'The guard cannot read this request.\n';
/** A client that is still sending must have time to read the answer. */
const LINGER_MS = 1_000;

/**
 * Answers requests that are not HTTP and closes the connection.
 *
 * Node does so too, but resets the connection if more bytes follow, so that its answer is lost. It also drops earlier
 * valid requests on the connection.
 */
export function answerMalformedRequests(server: Server): void {
  const openRequests = new WeakMap<Duplex, Set<IncomingMessage>>();
  const closing = new WeakSet<Duplex>();
  server.on('request', (request, response) => {
    const { socket } = request;
    const open = openRequests.get(socket) ?? new Set();
    openRequests.set(socket, open.add(request));
    response.once('close', () => {
      open.delete(request);
      socket.emit('answered');
    });
  });
  server.on('clientError', ({ code = '' }: NodeJS.ErrnoException, socket: Duplex) => {
    if (closing.has(socket)) return;
    // Others are TLS errors and resets.
    if (!socket.writable || !/^(?:HPE|ERR_HTTP)_/.test(code)) {
      socket.destroy();
      return;
    }
    closing.add(socket);
    const answerWhenLast = (): void => {
      // An incomplete request is the malformed one.
      if ([...(openRequests.get(socket) ?? [])].some(({ complete }) => complete)) return;
      socket.off('answered', answerWhenLast);
      if (socket.writable) socket.end(formatResponse(STATUS[code] ?? '400 Bad Request', TEXT));
      setTimeout(() => socket.destroy(), LINGER_MS).unref();
    };
    socket.on('answered', answerWhenLast);
    answerWhenLast();
  });
}

/** Formats the last response on a connection. The text is ASCII. */
export function formatResponse(status: string, text: string): string {
  const head = [
    `HTTP/1.1 ${status}`,
    'Content-Type: text/plain',
    `Content-Length: ${text.length}`,
    'Connection: close',
  ];
  return `${head.join('\r\n')}\r\n\r\n${text}`;
}

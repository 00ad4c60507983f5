import type { IncomingMessage } from 'node:http';
import { BadReview } from '../policy/review.ts';
import type { HeldBody } from './body-budget.ts';

/** What is read of a request. */
export interface ReadBodyOptions {
  /** Where its bytes are counted. */
  readonly held: HeldBody;
  /** Largest body in bytes. */
  readonly limit: number;
  /** Aborts when the client has gone. That the body arrives in time is for the caller to see to. */
  readonly signal: AbortSignal;
}

/** What a piece costs beside its bytes, in memory: a body may come in pieces of one byte. */
const CHUNK_COSTS = 256;

/**
 * The body of a request, in one piece.
 *
 * @throws BadReview where it is compressed, larger than the limit, or breaks off; the signal's reason
 */
export async function readBody(request: IncomingMessage, { held, limit, signal }: ReadBodyOptions): Promise<Buffer> {
  // The API server compresses nothing that it sends to webhooks, and a few bytes that inflate to gigabytes are an old trick.
  if ((request.headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity') {
    throw new BadReview('the request body is compressed, which admission reviews are not');
  }
  const tooLarge = new BadReview(`the request body is larger than ${limit / 1024 / 1024} MiB`);
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge;
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    // Not destroyed when it is left early: the answer goes out on the same connection.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > limit) throw tooLarge;
      await held.grow(chunk.length + CHUNK_COSTS, signal);
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof BadReview || signal.aborted) throw error;
    throw new BadReview('the request body broke off');
  }
  return Buffer.concat(chunks, length);
}

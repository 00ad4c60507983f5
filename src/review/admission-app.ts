import type { Request, RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { ConfigName } from '../mco/referrer.ts';
import { computeDeadlineMs, type Settings } from '../api/settings.ts';
import { denyBadReview, denyUnverified } from './decide.ts';
import type { Review, Verdict } from './verdict.ts';
import { withTimeout } from '../common/wait.ts';
import { BadReview, findUid, parseReview, ReviewFault, toAdmissionReview } from './parse-review.ts';
import { createEndpointApp } from '../serving/endpoint-app.ts';

/** The basis of a verdict: no cluster data, an index referrer that a GET confirmed, or a live read. */
export type DecisionPath = 'none' | 'index' | 'live';

/**
 * Whether a config of the review's name and uid exists. `missing` includes reviews about other objects.
 * `unknown` means that the guard could not find out, or did not need to.
 */
export type ConfigState = 'exists' | 'missing' | 'unknown';

export interface JudgedReview {
  readonly review: Review;
  readonly verdict: Verdict;
  readonly path: DecisionPath;
  readonly configState: ConfigState;
}

export interface ReviewJudge {
  /** Rejects only because of a bug. On abort, the judge decides with the data that it has read. */
  readonly judge: (review: Review, signal: AbortSignal) => Promise<JudgedReview>;
}

export interface AnsweredCall {
  readonly ms: number;
  readonly address: string;
  readonly hasAuthorization: boolean;
}

export interface AdmissionAppOptions {
  readonly judge: ReviewJudge;
  readonly settings: () => Settings;
  readonly log: Logger;
  /** Called after every answer. There is none if the client has closed the connection. */
  readonly onAnswer: (judged: JudgedReview, call: AnsweredCall) => void;
  readonly isDraining: () => boolean;
}

/** Shared, because each new error would collect a stack. */
const CLIENT_CLOSED = new DOMException('the client has closed the connection', 'AbortError');

const UNREAD_REVIEW: Review = { uid: '', isDryRun: false, user: 'unknown', config: undefined };

/**
 * Answers every POST /validate with status 200 and a well-formed AdmissionReview. After any other answer,
 * `failurePolicy: Ignore` would allow the deletion.
 */
export function createAdmissionApp({ judge, settings, log, onAnswer, isDraining }: AdmissionAppOptions) {
  const bodies = new BodyReader();

  const receive = async (request: Request, deadlineMs: number): Promise<Review> => {
    const review = await bodies.read(request, parseReview, Math.min(deadlineMs, BODY_TIMEOUT_MS));
    const type = (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase();
    if (type === 'application/json') return review;
    throw new BadReview('the content type is not application/json', review.uid);
  };
  const denyForGuard = (reason: string, config?: ConfigName): Verdict =>
    denyUnverified(config, [{ name: 'the guard', reason }], settings());
  /**
   * Every mode denies a malformed review, because the API server never sends one. After other faults the mode decides,
   * because the review may be a good one and the guard may be the cause.
   */
  const judgeFault = (error: unknown, review: Review): JudgedReview => {
    const fault = { path: 'none', configState: 'unknown' } as const;
    if (error instanceof ReviewFault) {
      const { message, uid } = error;
      const verdict = error instanceof BadReview ? denyBadReview(message) : denyForGuard(message);
      return { ...fault, review: { ...review, uid }, verdict };
    }
    log.error({ err: error }, 'cannot answer a review');
    return { ...fault, review, verdict: denyForGuard('internal error', review.config?.name) };
  };
  /** Every answer to a review comes from here, and is logged and counted. */
  const finish = (response: Response, judged: JudgedReview, arrivedAt: number): void => {
    const { req: request } = response;
    // An unread body would delay the next request on the connection.
    if (isDraining() || !request.complete) response.setHeader('connection', 'close');
    if (!response.destroyed) response.json(toAdmissionReview(judged.review.uid, judged.verdict));
    const call: AnsweredCall = {
      ms: performance.now() - arrivedAt,
      address: request.socket.remoteAddress ?? 'unknown',
      hasAuthorization: request.headers.authorization !== undefined,
    };
    // Recording takes as long as an answer, so other answers of this turn go first.
    setImmediate(() => {
      try {
        onAnswer(judged, call);
      } catch (error) {
        log.error({ err: error }, 'cannot record a decision');
      }
    });
  };
  const answer: RequestHandler = async (request, response) => {
    const arrivedAt = performance.now();
    const deadlineMs = computeDeadlineMs(request.query['timeout']);
    const closed = new AbortController();
    response.on('close', () => closed.abort(CLIENT_CLOSED));
    let review = UNREAD_REVIEW;
    let judged: JudgedReview;
    try {
      review = await receive(request, deadlineMs);
      const remainingMs = Math.max(1, deadlineMs - (performance.now() - arrivedAt));
      // At the deadline the signal aborts, and the judge decides with what it has read.
      judged = await withTimeout(remainingMs, closed.signal, (signal) => judge.judge(review, signal));
    } catch (error) {
      if (closed.signal.aborted || request.socket.destroyed) return;
      judged = judgeFault(error, review);
    }
    // The client did not wait, such as kubectl after Ctrl-C. So nothing was denied.
    if (!closed.signal.aborted) finish(response, judged, arrivedAt);
  };
  return createEndpointApp('post', { '/validate': [answer] }, 'the guard answers POST /validate');
}

/** The guard did not read the body to its end. The review may be a good one. */
class UnreadBody extends ReviewFault {}

const BODY_TIMEOUT_MS = 5_000;
/** Of all arriving bodies. With 32 MiB, a flood would use all the memory of the pod, because V8 frees them late. */
const MAX_ARRIVING_BYTES = 16 * 1024 * 1024;
/** etcd limits an object to 1.5 MiB. This leaves room for the old and the new one. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;
/** Shared, because the garbage collector frees buffers of this size too late during a flood. */
const JOINED = Buffer.allocUnsafeSlow(MAX_BODY_BYTES);
/** Each piece costs a call, however small it is. TLS records of the API server have 1 to 16 KiB. */
const MAX_PIECES = 1_000;

/**
 * Reads bodies within a limit of memory. Beyond it, the reader gives up the body that has been arriving for the longest
 * time, because the API server sends a body immediately.
 */
class BodyReader {
  /** The bytes of each body that is arriving, the oldest body first. */
  readonly #arriving = new Map<() => void, number>();
  #bytes = 0;

  /**
   * Reads and parses a body. `parse` must not keep the buffer, which the next body overwrites.
   * @throws BadReview, UnreadBody, or the error of the connection or of `parse`
   */
  async read<T>(request: IncomingMessage, parse: (body: Buffer) => T, timeoutMs: number): Promise<T> {
    // The API server never compresses reviews, and a few bytes can inflate to gigabytes.
    if ((request.headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity') {
      throw new BadReview('the request body is compressed');
    }
    const { 'content-length': length } = request.headers;
    if (length === undefined) throw new BadReview('the request does not say how long its body is');
    if (Number(length) > MAX_BODY_BYTES) {
      throw new BadReview(`the request body is larger than ${MAX_BODY_BYTES / 1024 / 1024} MiB`);
    }
    const pieces: Buffer[] = [];
    const unread = new AbortController();
    const stop = (reason: string): void => unread.abort(new UnreadBody(reason, findUid(pieces[0] ?? Buffer.alloc(0))));
    const giveUp = (): void => stop('too many requests at once');
    const onData = (piece: Buffer): void => {
      pieces.push(piece);
      this.#add(giveUp, piece.length);
      if (pieces.length > MAX_PIECES) stop(`the request body has more than ${MAX_PIECES} pieces`);
    };
    const timer = setTimeout(() => stop('the request body did not arrive in time'), timeoutMs);
    request.on('data', onData);
    try {
      await once(request, 'end', { signal: unread.signal });
      let joined = 0;
      for (const piece of pieces) joined += piece.copy(JOINED, joined);
      return parse(JOINED.subarray(0, joined));
    } catch (error) {
      throw unread.signal.aborted ? unread.signal.reason : error;
    } finally {
      clearTimeout(timer);
      request.off('data', onData);
      this.#remove(giveUp);
    }
  }

  #add(giveUp: () => void, bytes: number): void {
    this.#arriving.set(giveUp, (this.#arriving.get(giveUp) ?? 0) + bytes);
    this.#bytes += bytes;
    for (const oldest of this.#arriving.keys()) {
      if (this.#bytes <= MAX_ARRIVING_BYTES) return;
      this.#remove(oldest);
      oldest();
    }
  }

  #remove(giveUp: () => void): void {
    this.#bytes -= this.#arriving.get(giveUp) ?? 0;
    this.#arriving.delete(giveUp);
  }
}

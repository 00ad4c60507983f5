import type { Express, Request, RequestHandler, Response } from 'express';
import PQueue from 'p-queue';
import type { Logger } from 'pino';
import type { ConfigName } from '../decision/references.ts';
import { computeDeadlineMs } from '../decision/deadline.ts';
import { denyBadReview, denyUnverified } from '../decision/decide.ts';
import type { Review, Verdict } from '../decision/verdict.ts';
import type { Settings } from '../decision/settings.ts';
import { withTimeout } from '../common/wait.ts';
import { toAdmissionReview } from './admission-response.ts';
import { BodyReader } from './body-reader.ts';
import type { ConnectionLimiter } from './connection-limiter.ts';
import { createEndpointApp } from './endpoint-app.ts';
import { BadReview, parseReview, ReviewFault } from './parse-review.ts';

/** The basis of a verdict: no cluster data, an index referrer that a GET confirmed, or a live read. */
export type DecisionPath = 'none' | 'index' | 'live';

/**
 * Whether a config of the review's name and uid exists. `missing` includes reviews about other objects.
 * `unknown` means that the guard could not find out, or did not need to.
 */
export type ConfigState = 'exists' | 'missing' | 'unknown';

/** A review with the verdict that answers it, and how the guard reached the verdict. */
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

/** The request of a review that was answered. */
export interface AnsweredCall {
  /** Milliseconds from its arrival to the answer. */
  readonly ms: number;
  /** The IP address of the client. */
  readonly address: string;
  readonly hasAuthorization: boolean;
}

export type AnswerListener = (judged: JudgedReview, call: AnsweredCall) => void;

export interface AdmissionAppOptions {
  readonly judge: ReviewJudge;
  readonly connections: ConnectionLimiter;
  readonly settings: () => Settings;
  readonly log: Logger;
  /** Called after every answer. There is none if the client has closed the connection. */
  readonly onAnswer: AnswerListener;
  /** Whether the server is shutting down. Then each answer closes its connection. */
  readonly isDraining: () => boolean;
  readonly limits?: Partial<BodyLimits>;
}

export interface BodyLimits {
  /** How long a body may take to arrive if the client's own timeout is not shorter. */
  readonly timeoutMs: number;
  /** The memory of arriving bodies, for connections that have delivered a review of an existing config. */
  readonly trustedBytes: number;
  /** The memory of arriving bodies, for all other connections. */
  readonly otherBytes: number;
}

/**
 * The garbage collector of Kubernetes deletes 20 objects at a time, so up to 30 MiB arrive together. For other
 * connections 32 MiB would let a flood use all the memory of the pod, because V8 frees the bodies late.
 */
const LIMITS: BodyLimits = { timeoutMs: 5_000, trustedBytes: 32 * 1024 * 1024, otherBytes: 16 * 1024 * 1024 };

/** Shared, because each new error would collect a stack. */
const CLIENT_CLOSED = new DOMException('the client has closed the connection', 'AbortError');

/** Stands for a review that the guard could not read. */
const UNREAD_REVIEW: Review = { uid: '', isDryRun: false, user: 'unknown', config: undefined };

/**
 * Answers every POST /validate with status 200 and a well-formed AdmissionReview. After any other answer,
 * `failurePolicy: Ignore` would allow the deletion.
 */
export function createAdmissionApp(options: AdmissionAppOptions): Express {
  const calls = new ReviewCalls(options);
  const answer: RequestHandler = async (request, response) => {
    await calls.answer(request, response);
  };
  return createEndpointApp('post', { '/validate': [answer] }, 'the guard answers POST /validate');
}

class ReviewCalls {
  readonly #options: AdmissionAppOptions;
  readonly #limits: BodyLimits;
  readonly #trustedBodies: BodyReader;
  readonly #otherBodies: BodyReader;

  constructor(options: AdmissionAppOptions) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
    this.#trustedBodies = new BodyReader(this.#limits.trustedBytes);
    // Otherwise hundreds of reviews would be parsed before the next one of a trusted connection is read.
    this.#otherBodies = new BodyReader(this.#limits.otherBytes, new PQueue({ concurrency: 1 }));
  }

  async answer(request: Request, response: Response): Promise<void> {
    const arrivedAt = performance.now();
    const deadlineMs = computeDeadlineMs(request.query['timeout']);
    const closed = new AbortController();
    response.on('close', () => closed.abort(CLIENT_CLOSED));
    let review = UNREAD_REVIEW;
    let judged: JudgedReview;
    try {
      review = await this.#receive(request, Math.min(deadlineMs, this.#limits.timeoutMs));
      const remainingMs = Math.max(1, deadlineMs - (performance.now() - arrivedAt));
      const { judge } = this.#options;
      // At the deadline the signal aborts, and the judge decides with what it has read.
      judged = await withTimeout(remainingMs, closed.signal, (signal) => judge.judge(review, signal));
    } catch (error) {
      if (closed.signal.aborted || request.socket.destroyed) return;
      judged = this.#judgeFault(error, review);
    }
    // The client did not wait, such as kubectl after Ctrl-C. So nothing was denied.
    if (closed.signal.aborted) return;
    this.#finish(response, judged, arrivedAt);
  }

  async #receive(request: Request, timeoutMs: number): Promise<Review> {
    const isTrusted = this.#options.connections.isTrusted(request.socket);
    const review = await (isTrusted ? this.#trustedBodies : this.#otherBodies).read(request, parseReview, timeoutMs);
    const type = (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase();
    if (type === 'application/json') return review;
    throw new BadReview('the content type is not application/json', review.uid);
  }

  /**
   * Every mode denies a malformed review, because the API server never sends one. After other faults the mode decides,
   * because the review may be a good one and the guard may be the cause.
   */
  #judgeFault(error: unknown, review: Review): JudgedReview {
    const fault = { path: 'none', configState: 'unknown' } as const;
    if (error instanceof ReviewFault) {
      const { message, uid } = error;
      const verdict = error instanceof BadReview ? denyBadReview(message) : this.#denyForGuard(message);
      return { ...fault, review: { ...review, uid }, verdict };
    }
    this.#options.log.error({ err: error }, 'cannot answer a review');
    return { ...fault, review, verdict: this.#denyForGuard('internal error', review.config?.name) };
  }

  #denyForGuard(reason: string, config?: ConfigName): Verdict {
    return denyUnverified(config, [{ name: 'the guard', reason }], this.#options.settings());
  }

  /** Every answer to a review comes from here, and is logged and counted. */
  #finish(response: Response, judged: JudgedReview, arrivedAt: number): void {
    const { connections, isDraining } = this.#options;
    const { req: request } = response;
    if (judged.configState === 'exists') connections.setTrusted(request.socket);
    // An unread body would delay the next request on the connection.
    if (isDraining() || !request.complete) response.setHeader('connection', 'close');
    if (!response.destroyed) response.json(toAdmissionReview(judged.review.uid, judged.verdict));
    const call: AnsweredCall = {
      ms: performance.now() - arrivedAt,
      address: request.socket.remoteAddress ?? 'unknown',
      hasAuthorization: request.headers.authorization !== undefined,
    };
    // Recording takes as long as an answer, so other answers of this turn go first.
    setImmediate(() => this.#record(judged, call));
  }

  #record(judged: JudgedReview, call: AnsweredCall): void {
    const { onAnswer, log } = this.#options;
    try {
      onAnswer(judged, call);
    } catch (error) {
      log.error({ err: error }, 'cannot record a decision');
    }
  }
}

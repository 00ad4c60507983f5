import type { ErrorRequestHandler, Express, Request, RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import { denyBadReview, denyUnverified } from '../decision/decide.ts';
import { toPrintableLine } from '../decision/printable-text.ts';
import type { Review } from '../decision/review.ts';
import { DEFAULT_SETTINGS } from '../decision/settings.ts';
import type { Verdict } from '../decision/verdict.ts';
import { withTimeout } from '../kube/wait.ts';
import { toAdmissionReview } from './admission-response.ts';
import { BodyBudget } from './body-budget.ts';
import { computeDeadlineMs } from './deadline.ts';
import { type Decision, toDecision } from './decision.ts';
import type { Judgement, ReviewJudge } from './judgement.ts';
import { BadReview, parseReview } from './parse-review.ts';
import { readBody } from './read-body.ts';
import { createSingleEndpointApp } from './single-endpoint-app.ts';

export interface AdmissionAppOptions {
  readonly judge: ReviewJudge;
  readonly log: Logger;
  /** Called after the answer to each review. */
  readonly onDecision: (decision: Decision, review: Review) => void;
  /** Whether the server is shutting down. Then each answer closes its connection. */
  readonly isDraining: () => boolean;
  readonly limits?: Partial<AdmissionLimits>;
}

export interface AdmissionLimits {
  readonly maxBodyBytes: number;
  /** How long a body may take to arrive if the client's own timeout is not shorter. */
  readonly bodyTimeoutMs: number;
  /** A body of at most this size never waits for the memory budget. */
  readonly smallBodyBytes: number;
  readonly maxBufferedBytes: number;
  readonly maxReviews: number;
}

/**
 * The API server rejects bodies over 3 MiB and objects over 1.5 MiB (kubernetes,
 * apiserver/pkg/server/config.go), but managed fields in JSON may need more. It sends a body immediately.
 */
const LIMITS: AdmissionLimits = {
  maxBodyBytes: 8 * 1024 * 1024,
  bodyTimeoutMs: 5_000,
  smallBodyBytes: 256 * 1024,
  maxBufferedBytes: 128 * 1024 * 1024,
  maxReviews: 1_024,
};

/** Shared, because each new error would collect a stack. */
const CLIENT_CLOSED = new DOMException('the client has closed the connection', 'AbortError');

const BODY_TIMED_OUT = denyBadReview('the request body did not arrive in time');
const OVERLOADED = denyGuardProblem('too many requests at once');
const INTERNAL_ERROR = denyGuardProblem('internal error');

/** Answers every `POST /validate` with a well-formed AdmissionReview (docs/adr/0003). */
export function createAdmissionApp({
  judge,
  log,
  onDecision,
  isDraining,
  limits,
}: AdmissionAppOptions): Express {
  const { maxBodyBytes, bodyTimeoutMs, smallBodyBytes, maxBufferedBytes, maxReviews } = {
    ...LIMITS,
    ...limits,
  };
  const budget = new BodyBudget(maxBufferedBytes, smallBodyBytes);
  let reviewCount = 0;

  const validate: RequestHandler = async (request, response) => {
    const arrivedAt = performance.now();
    const deadlineMs = computeDeadlineMs(request.query['timeout']);
    const closed = new AbortController();
    response.on('close', () => closed.abort(CLIENT_CLOSED));
    if (isDraining()) response.setHeader('connection', 'close');
    // Arriving bodies do not count, because any client can open many requests.
    if (reviewCount >= maxReviews) {
      answerUnread(response, OVERLOADED);
      return;
    }
    const review = await receiveReview(response, Math.min(deadlineMs, bodyTimeoutMs), closed.signal);
    if (review === undefined) return;
    if (reviewCount >= maxReviews) {
      answer(response, review.uid, OVERLOADED);
      return;
    }
    reviewCount += 1;
    try {
      const remainingMs = Math.max(1, deadlineMs - (performance.now() - arrivedAt));
      const work = async (signal: AbortSignal): Promise<Judgement> => await judge.judge(review, signal);
      const { verdict, path } = await withTimeout(remainingMs, closed.signal, work);
      answer(response, review.uid, verdict);
      // Recording takes as long as an answer, so other answers of this turn go first.
      setImmediate(record, toDecision(review, verdict, path, performance.now() - arrivedAt), review);
    } finally {
      reviewCount -= 1;
    }
  };

  const record = (decision: Decision, review: Review): void => {
    try {
      onDecision(decision, review);
    } catch (error) {
      log.error({ err: error }, 'cannot record a decision');
    }
  };

  /** Returns undefined if the request was answered early or the client closed the connection. */
  const receiveReview = async (response: Response, timeoutMs: number, signal: AbortSignal) => {
    const buffer = budget.open(() => answerUnread(response, BODY_TIMED_OUT));
    const timer = setTimeout(() => {
      answerUnread(response, buffer.isWaiting() ? OVERLOADED : BODY_TIMED_OUT);
    }, timeoutMs);
    try {
      const body = await readBody(response.req, buffer, maxBodyBytes, signal);
      return response.headersSent ? undefined : parseRequest(response.req, body);
    } catch (error) {
      if (response.headersSent || signal.aborted) return undefined;
      throw error;
    } finally {
      // The next body can use the memory while this review is judged.
      buffer.release();
      clearTimeout(timer);
    }
  };

  /** Express calls this for every error, in place of its HTML page. */
  const onError: ErrorRequestHandler = (error: unknown, request, response, _next) => {
    // An unread body would block the next request on the connection.
    request.resume();
    if (error instanceof BadReview) {
      log.warn({ problem: toPrintableLine(error.message, 300) }, 'denied a malformed review');
      answer(response, error.uid, denyBadReview(error.message));
    } else {
      log.error({ err: error }, 'cannot answer a review');
      answerUnread(response, INTERNAL_ERROR);
    }
  };

  return createSingleEndpointApp('post', '/validate', 'the guard answers POST /validate', validate, onError);
}

function parseRequest(request: Request, body: Buffer): Review {
  const review = parseReview(body);
  const type = (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json') throw new BadReview('the content type is not application/json', review.uid);
  return review;
}

function answer(response: Response, uid: string, verdict: Verdict): void {
  if (response.headersSent || response.destroyed) return;
  response.status(200).json(toAdmissionReview(uid, verdict));
}

/** Answers before the body was read, and closes the connection if the body is incomplete. */
function answerUnread(response: Response, verdict: Verdict): void {
  if (!response.headersSent && !response.req.complete) response.setHeader('connection', 'close');
  answer(response, '', verdict);
}

function denyGuardProblem(reason: string): Verdict {
  return denyUnverified(undefined, [{ name: 'the guard', reason }], DEFAULT_SETTINGS);
}

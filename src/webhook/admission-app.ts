import type { ErrorRequestHandler, Express, Request, RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import { denyBadReview, denyUnverified } from '../decision/decide.ts';
import { toPrintableLine } from '../decision/printable-text.ts';
import type { Review, ReviewHeader } from '../decision/review.ts';
import type { Settings } from '../decision/settings.ts';
import type { Verdict } from '../decision/verdict.ts';
import { ThrottledLog } from '../kube/throttled-log.ts';
import { withTimeout } from '../kube/wait.ts';
import { toAdmissionReview } from './admission-response.ts';
import { BodyBudget } from './body-budget.ts';
import type { ConnectionLimiter } from './connection-limiter.ts';
import { computeDeadlineMs } from './deadline.ts';
import { type Decision, toDecision } from './decision.ts';
import { createEndpointApp } from './endpoint-app.ts';
import type { ReviewJudge } from './judgement.ts';
import { BadReview, findUid, parseReview } from './parse-review.ts';
import { readBody } from './read-body.ts';
import { ReadPacer } from './read-pacer.ts';

export interface AdmissionAppOptions {
  readonly judge: ReviewJudge;
  readonly connections: ConnectionLimiter;
  readonly settings: () => Settings;
  readonly log: Logger;
  /** Called after the answer to each review of a deletion. */
  readonly onDecision: (decision: Decision, review: Review) => void;
  /** Whether the server is shutting down. Then each answer closes its connection. */
  readonly isDraining: () => boolean;
  readonly limits?: Partial<AdmissionLimits>;
}

export interface AdmissionLimits {
  readonly maxBodyBytes: number;
  /** How long a body may take to arrive if the client's own timeout is not shorter. */
  readonly bodyTimeoutMs: number;
  /** Larger bodies share their memory only with each other. */
  readonly smallBodyBytes: number;
  readonly maxBufferedBytes: number;
  /** Connections that are not trusted get half of them. */
  readonly maxReviews: number;
}

/** One of the guard's webhooks. They share all limits. */
interface Webhook<R extends ReviewHeader> {
  /** @throws BadReview */
  readonly parse: (body: Buffer) => R;
  readonly judge: ReviewJudge<R>['judge'];
  readonly onDecision: (decision: Decision, review: R) => void;
  /** The verdict on a request that is not a readable review. */
  readonly decideBadReview: (problem: string) => Verdict;
  /** The verdict if the guard is overloaded or has an internal error. */
  readonly decideFault: (reason: string) => Verdict;
}

/**
 * The API server rejects bodies over 3 MiB and objects over 1.5 MiB (kubernetes,
 * apiserver/pkg/server/config.go), but managed fields in JSON may need more. It sends a body immediately.
 */
const LIMITS: AdmissionLimits = {
  maxBodyBytes: 8 * 1024 * 1024,
  bodyTimeoutMs: 5_000,
  smallBodyBytes: 256 * 1024,
  maxBufferedBytes: 30 * 1024 * 1024,
  maxReviews: 1_024,
};

/** Shared, because each new error would collect a stack. */
const CLIENT_CLOSED = new DOMException('the client has closed the connection', 'AbortError');

const BODY_TIMED_OUT = 'the request body did not arrive in time';
const OVERLOADED = 'too many requests at once';
const INTERNAL_ERROR = 'internal error';

/** Answers every POST /validate with a well-formed AdmissionReview (docs/adr/0003). */
export function createAdmissionApp({
  judge,
  connections,
  settings,
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
  const pacer = new ReadPacer();
  const badReviews = new ThrottledLog(log);
  let reviewCount = 0;

  const validate = async <R extends ReviewHeader>(
    webhook: Webhook<R>,
    request: Request,
    response: Response,
  ): Promise<void> => {
    const arrivedAt = performance.now();
    const deadlineMs = computeDeadlineMs(request.query['timeout']);
    const closed = new AbortController();
    response.on('close', () => closed.abort(CLIENT_CLOSED));
    if (isDraining()) response.setHeader('connection', 'close');
    const review = await receiveReview(webhook, response, Math.min(deadlineMs, bodyTimeoutMs), closed.signal);
    if (review === undefined) return;
    const { socket } = request;
    const isTrusted = connections.trustOf(socket) === 'trusted';
    if (reviewCount >= (isTrusted ? maxReviews : maxReviews / 2)) {
      answer(response, review.uid, webhook.decideFault(OVERLOADED));
      return;
    }
    reviewCount += 1;
    try {
      const remainingMs = Math.max(1, deadlineMs - (performance.now() - arrivedAt));
      const judgement = await withTimeout(remainingMs, closed.signal, async (signal) =>
        webhook.judge(review, signal),
      );
      answer(response, review.uid, judgement.verdict);
      if (judgement.configState === 'exists') connections.setTrust(socket, 'trusted');
      else if (judgement.configState === 'missing') connections.setTrust(socket, 'untrusted');
      const ms = performance.now() - arrivedAt;
      // Recording takes as long as an answer, so other answers of this turn go first.
      setImmediate(record, () => webhook.onDecision(toDecision(review, judgement, ms), review));
    } catch (error) {
      if (response.headersSent || closed.signal.aborted) return;
      log.error({ err: error }, 'cannot answer a review');
      answer(response, review.uid, webhook.decideFault(INTERNAL_ERROR));
    } finally {
      reviewCount -= 1;
    }
  };

  const record = (recordDecision: () => void): void => {
    try {
      recordDecision();
    } catch (error) {
      log.error({ err: error }, 'cannot record a decision');
    }
  };

  /** Returns undefined if the request was answered early or the client closed the connection. */
  const receiveReview = async <R extends ReviewHeader>(
    { parse, decideBadReview, decideFault }: Webhook<R>,
    response: Response,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<R | undefined> => {
    const { req: request } = response;
    const trust = connections.trustOf(request.socket);
    const answerLate = (): void =>
      answerEarly(
        response,
        findUid(buffer.start()),
        buffer.isWaiting() ? decideFault(OVERLOADED) : decideBadReview(BODY_TIMED_OUT),
      );
    const buffer = budget.open(trust === 'trusted', Number(request.headers['content-length']), answerLate);
    const timer = setTimeout(answerLate, timeoutMs);
    connections.onEviction(request.socket, answerLate);
    try {
      const ownPacer = trust === 'trusted' ? undefined : pacer;
      const body = await readBody(request, buffer, maxBodyBytes, signal, ownPacer);
      if (response.headersSent) return undefined;
      const review = parse(body);
      assertJson(request, review.uid);
      return response.headersSent ? undefined : review;
    } catch (error) {
      if (response.headersSent || signal.aborted) return undefined;
      if (error instanceof BadReview) {
        answerBadReview(response, error, findUid(buffer.start()), decideBadReview);
      } else {
        log.error({ err: error }, 'cannot read a review');
        answerEarly(response, findUid(buffer.start()), decideFault(INTERNAL_ERROR));
      }
      return undefined;
    } finally {
      // The next body can use the memory while this review is judged.
      buffer.release();
      clearTimeout(timer);
      connections.onEviction(request.socket, undefined);
    }
  };

  const answerBadReview = (
    response: Response,
    { message, uid }: BadReview,
    uidAtStart: string,
    decideBadReview: (problem: string) => Verdict,
  ): void => {
    connections.setTrust(response.req.socket, 'untrusted');
    badReviews.warn('received a malformed review', { problem: toPrintableLine(message, 300) });
    // An unread body would block the next request on the connection.
    response.req.resume();
    answer(response, uid === '' ? uidAtStart : uid, decideBadReview(message));
  };

  /** Express calls this for every error outside of the handler, in place of its HTML page. */
  const onError: ErrorRequestHandler = (error: unknown, request, response, _next) => {
    request.resume();
    log.error({ err: error }, 'cannot answer a request');
    answerEarly(response, '', denyForGuard(INTERNAL_ERROR));
  };

  const denyForGuard = (reason: string): Verdict =>
    denyUnverified(undefined, [{ name: 'the guard', reason }], settings());

  const deletions: Webhook<Review> = {
    parse: parseReview,
    judge: judge.judge.bind(judge),
    onDecision,
    decideBadReview: denyBadReview,
    decideFault: denyForGuard,
  };
  const handlers: [RequestHandler, ErrorRequestHandler] = [
    async (request, response) => validate(deletions, request, response),
    onError,
  ];
  return createEndpointApp('post', { '/validate': handlers }, 'the guard answers POST /validate');
}

/** @throws BadReview */
function assertJson({ headers }: Request, uid: string): void {
  const type = (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json') throw new BadReview('the content type is not application/json', uid);
}

function answer(response: Response, uid: string, verdict: Verdict): void {
  if (response.headersSent || response.destroyed) return;
  response.status(200).json(toAdmissionReview(uid, verdict));
}

/** Answers before the body was read, and closes the connection if the body is incomplete. */
function answerEarly(response: Response, uid: string, verdict: Verdict): void {
  if (!response.headersSent && !response.req.complete) response.setHeader('connection', 'close');
  answer(response, uid, verdict);
}

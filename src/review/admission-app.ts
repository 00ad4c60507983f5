import type { Request, RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import type { FollowedSettings } from '../api/settings.ts';
import { denyBadReview, denyUnverified, findCurrentSettings } from './decide.ts';
import type { Verdict } from './verdict.ts';
import { waitOrAbort, withTimeout } from '../common/wait.ts';
import { parseReview } from './parse-review.ts';
import { createEndpointApp } from '../serving/endpoint-app.ts';
import type { ConfigName } from '../mco/machine-config.ts';
import { toAdmissionReview } from './admission-response.ts';
import { BodyReader } from './body-reader.ts';
import { BadReview, ReviewFault } from './review-fault.ts';
import type { AnsweredCall, JudgedReview, Review, ReviewJudge } from './review.ts';
import type { AnswerRecorder } from './answer-recorder.ts';

export interface AdmissionAppOptions {
  readonly judge: ReviewJudge;
  readonly settings: FollowedSettings;
  readonly log: Logger;
  /** Gets every answer, but none if the client has closed the connection. */
  readonly recorder: Pick<AnswerRecorder, 'record'>;
  readonly serving: { readonly isDraining: boolean };
  /** A review is judged after it, or at its deadline. */
  readonly started?: Promise<void>;
}

/*
 * The API server waits for the webhook's timeoutSeconds, and then its failurePolicy decides. The guard answers earlier:
 *
 *   ms
 *   5,000  the API server waits (manifests/base/webhook.yaml)
 *   3,800  the guard decides with what it has read: 76 %. The rest is for the event loop and the network.
 *
 * Within the 3,800 ms, one after another:
 *
 *   2,000  at most for the GET that finds the config, if the index does not know it
 *   1,250  at most for the GET that confirms a referrer from the index
 *     550  at least for the live read. Normally it gets more than 3,700: the index knows the config, and a GET takes 2.
 *
 * During the start, the first lists come before all of this, for at most a second of the life of the guard.
 *
 * A live read starts every LATE_READ_MS while lists take longer. So reviews are answered in time if a list takes up to
 * 2,500 ms.
 */

/** Of a webhook's timeout (kubernetes, admissionregistration/v1). */
const DEFAULT_TIMEOUT_MS = 10_000;
const MAX_TIMEOUT_MS = 30_000;
const TIMEOUT_SHARE = 0.76;

/** The API server sends whole seconds (client-go, rest/request.go). Another client gets the default of the API. */
const TIMEOUT = /^(?<seconds>\d{1,4})s$/;

/** Returns within how many milliseconds the guard decides. `timeout` is the parameter of the request. */
export function computeDeadlineMs(timeout: unknown): number {
  const seconds = Number(TIMEOUT.exec(String(timeout))?.groups?.['seconds'] ?? 0);
  const timeoutMs = seconds === 0 ? DEFAULT_TIMEOUT_MS : Math.min(seconds * 1_000, MAX_TIMEOUT_MS);
  return Math.floor(timeoutMs * TIMEOUT_SHARE);
}

const BODY_TIMEOUT_MS = 5_000;
/** Shared, because each new error would collect a stack. */
const CLIENT_CLOSED = new DOMException('the client has closed the connection', 'AbortError');

const UNREAD_REVIEW: Review = { uid: '', isDryRun: false, user: 'unknown', config: undefined };

/**
 * Answers every POST /validate with status 200 and a well-formed AdmissionReview. After any other answer,
 * `failurePolicy: Ignore` would allow the deletion.
 */
export function createAdmissionApp({
  judge,
  settings,
  log,
  recorder,
  serving,
  started = Promise.resolve(),
}: AdmissionAppOptions) {
  const bodies = new BodyReader();

  const receive = async (request: Request, deadlineMs: number): Promise<Review> => {
    const review = await bodies.read(request, parseReview, Math.min(deadlineMs, BODY_TIMEOUT_MS));
    const type = (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase();
    if (type === 'application/json') return review;
    throw new BadReview('the content type is not application/json', review.uid);
  };
  const denyForGuard = (reason: string, config?: ConfigName): Verdict =>
    denyUnverified(config, [{ name: 'the guard', reason }], findCurrentSettings(settings));
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
    if (serving.isDraining || !request.complete) response.setHeader('connection', 'close');
    if (!response.destroyed) response.json(toAdmissionReview(judged.review, judged.verdict));
    const call: AnsweredCall = {
      ms: performance.now() - arrivedAt,
      address: request.socket.remoteAddress ?? 'unknown',
      hasAuthorization: request.headers.authorization !== undefined,
    };
    // Recording takes as long as an answer, so other answers of this turn go first.
    setImmediate(() => {
      try {
        recorder.record(judged, call);
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
      judged = await withTimeout(remainingMs, closed.signal, async (signal) => {
        await waitOrAbort(started, signal).catch(() => {});
        return await judge.judge(review, signal);
      });
    } catch (error) {
      if (closed.signal.aborted || request.socket.destroyed) return;
      judged = judgeFault(error, review);
    }
    // The client did not wait, such as kubectl after Ctrl-C. So nothing was denied.
    if (!closed.signal.aborted) finish(response, judged, arrivedAt);
  };
  return createEndpointApp('post', { '/validate': [answer] }, 'the guard answers POST /validate');
}

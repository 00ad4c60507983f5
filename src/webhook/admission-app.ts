import type { ErrorRequestHandler, Express, Request, RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import { DEFAULT_SETTINGS } from '../decision/settings.ts';
import type { Review } from '../decision/review.ts';
import { toAdmissionReview } from './admission-response.ts';
import { denyBadReview, denyUnverified } from '../decision/decide.ts';
import { toPrintableLine } from '../decision/printable-text.ts';
import { BadReview, parseReview } from './parse-review.ts';
import { type Verdict } from '../decision/verdict.ts';
import { BodyBudget } from './body-budget.ts';
import { computeDeadlineMs } from './deadline.ts';
import { type Decision, toDecision } from './decision.ts';
import type { Judge } from '../guard/judge.ts';
import { readBody } from './read-body.ts';
import { createStrictApp } from './strict-app.ts';

/** What the webhook's HTTP side needs. */
export interface AdmissionAppOptions {
  readonly judge: Pick<Judge, 'judge'>;
  readonly log: Logger;
  /** Told of every answered review, after the answer. */
  readonly onDecision: (decision: Decision, review: Review) => void;
  /** Is the server about to stop? Then clients are asked to take their next call elsewhere. */
  readonly draining: () => boolean;
  readonly limits?: Partial<AdmissionLimits>;
}

/** What the webhook takes on at once. Beyond it bodies wait until their deadline, and reviews are told so. */
export interface AdmissionLimits {
  /** Largest body in bytes. */
  readonly bodyBytes: number;
  /** How long a body may take to arrive, in milliseconds, where the caller's own timeout is not shorter. */
  readonly bodyMs: number;
  /** Up to this many bytes a body is read at once. */
  readonly smallBodyBytes: number;
  /** Bytes of bodies beyond which larger ones wait. */
  readonly heldBytes: number;
  /** How many reviews are judged at once. */
  readonly reviews: number;
}

/**
 * The API server refuses request bodies over 3 MiB and etcd objects over 1.5 MiB (kubernetes, apiserver/pkg/server/config.go);
 * JSON with managed fields may be larger than what is stored, so 8 MiB leaves room. It sends a review at once: a body that takes
 * five seconds comes from somebody else.
 */
const LIMITS: AdmissionLimits = {
  bodyBytes: 8 * 1024 * 1024,
  bodyMs: 5_000,
  smallBodyBytes: 256 * 1024,
  heldBytes: 128 * 1024 * 1024,
  reviews: 1_024,
};

const PATH = '/validate';
/** One for all: each would collect a stack, at every end of a request, that nobody looks at. */
const GONE = new DOMException('the caller has gone', 'AbortError');

/** The webhook as an express application: `POST /validate`, every fault a well-formed AdmissionReview. */
export function createAdmissionApp({ judge, log, onDecision, draining, limits }: AdmissionAppOptions): Express {
  const { bodyBytes, bodyMs, smallBodyBytes, heldBytes, reviews } = { ...LIMITS, ...limits };
  const bodies = new BodyBudget({ total: heldBytes, small: smallBodyBytes });
  let judging = 0;

  const app = createStrictApp();

  const validate: RequestHandler = async (request, response) => {
    const arrivedAt = performance.now();
    const within = computeDeadlineMs(request.query['timeout']);
    // Ends when the caller has gone, or with the time that the API server gives us. Not AbortSignal.any with AbortSignal.timeout: in Node 20
    // the garbage collector takes such a timeout away before its time.
    const over = new AbortController();
    let working = true;
    response.on('close', () => {
      if (working) over.abort(GONE);
    });
    if (draining()) response.setHeader('connection', 'close');
    // Requests whose body is still on its way do not count: they cost nothing but their connection, and anybody can make many.
    if (judging >= reviews) {
      refuseUnread(response, overloaded());
      return;
    }
    const review = await arrived(request, response, Math.min(within, bodyMs), over.signal);
    if (review === undefined) return;
    if (judging >= reviews) {
      answer(response, review.uid, overloaded());
      return;
    }
    const timer = setTimeout(
      () => {
        over.abort(new DOMException('the time for an answer is over', 'TimeoutError'));
      },
      Math.max(1, within - (performance.now() - arrivedAt)),
    );
    judging += 1;
    try {
      const { verdict, path } = await judge.judge(review, over.signal);
      answer(response, review.uid, verdict);
      const decision = toDecision(review, verdict, path, performance.now() - arrivedAt);
      // Others may be about to be answered in this turn of the event loop. To tell of one takes as long as to answer one.
      setImmediate(tell, decision, review);
    } finally {
      judging -= 1;
      working = false;
      clearTimeout(timer);
    }
  };

  const tell = (decision: Decision, review: Review): void => {
    try {
      onDecision(decision, review);
    } catch (error) {
      log.error({ err: error }, 'a decision could not be recorded');
    }
  };

  /** The review, once its body has arrived; undefined where that took too long or the caller has gone, which is answered already. */
  const arrived = async (
    request: Request,
    response: Response,
    withinMs: number,
    gone: AbortSignal,
  ): Promise<Review | undefined> => {
    const tooSlow = denyBadReview('the request body did not arrive in time');
    const held = bodies.open(() => {
      refuseUnread(response, tooSlow);
    });
    const late = setTimeout(() => {
      refuseUnread(response, held.waits() ? overloaded() : tooSlow);
    }, withinMs);
    try {
      const body = await readBody(request, { held, limit: bodyBytes, signal: gone });
      return response.headersSent ? undefined : readReview(request, body);
    } catch (error) {
      if (response.headersSent || gone.aborted) return undefined;
      throw error;
    } finally {
      // From here on the body is not needed any more; the next one may come in while this review is judged.
      held.release();
      clearTimeout(late);
    }
  };

  /** Express hands everything that was thrown to this; it takes the place of its HTML page. */
  const onError: ErrorRequestHandler = (error: unknown, request, response, _next) => {
    // What is left of the body is thrown away as it comes; else the next request on the connection would never be seen.
    request.resume();
    if (!(error instanceof BadReview)) {
      log.error({ err: error }, 'a review could not be answered');
      refuseUnread(
        response,
        denyUnverified(undefined, [{ name: 'the guard', reason: 'internal error' }], DEFAULT_SETTINGS),
      );
      return;
    }
    log.warn({ problem: toPrintableLine(error.message, 300) }, 'a request that is not a readable review was refused');
    answer(response, error.uid, denyBadReview(error.message));
  };

  app.post(PATH, validate, onError);
  app.all(PATH, (_request, response) => {
    response
      .status(405)
      .set('allow', 'POST')
      .type('text/plain')
      .send('method not allowed: the guard answers POST /validate\n');
  });
  app.use((_request, response) => {
    response.status(404).type('text/plain').send('not found: the guard answers POST /validate\n');
  });
  return app;
}

function readReview(request: Request, body: Buffer): Review {
  const review = parseReview(body);
  const type = (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json') throw new BadReview('the content type is not application/json', review.uid);
  return review;
}

function answer(response: Response, uid: string, verdict: Verdict): void {
  if (response.headersSent || response.destroyed) return;
  response.status(200).json(toAdmissionReview(uid, verdict));
}

/** Answers a request whose body has not been read. The rest of it is not waited for, so the connection cannot be kept. */
function refuseUnread(response: Response, verdict: Verdict): void {
  if (!response.headersSent && !response.req.complete) response.setHeader('connection', 'close');
  answer(response, '', verdict);
}

function overloaded(): Verdict {
  return denyUnverified(undefined, [{ name: 'the guard', reason: 'too many requests at once' }], DEFAULT_SETTINGS);
}

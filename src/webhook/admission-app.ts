import { isUtf8 } from 'node:buffer';
import express, {
  type ErrorRequestHandler,
  type Express,
  type Request,
  type RequestHandler,
  type Response,
} from 'express';
import type { Logger } from 'pino';
import { badReview, unverified } from '../policy/decide.ts';
import { DEFAULT_POLICY } from '../policy/policy.ts';
import { BadReview, parseReview, type Review } from '../policy/review.ts';
import { admissionAnswer, type Verdict } from '../policy/verdict.ts';
import { answerWithinMs } from './deadline.ts';
import { type Decision, decisionOf } from './decision.ts';
import type { Judge } from './judge.ts';
import { Slots } from './slots.ts';
import { strictApp } from './strict-app.ts';

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

/** What the webhook takes on at once. Beyond it callers wait in line until their deadline, or are told so. */
export interface AdmissionLimits {
  /** Largest body in bytes. */
  readonly bodyBytes: number;
  /** Bodies from this size on, in bytes, need a slot. */
  readonly largeBodyBytes: number;
  /** How many large bodies are read at once. */
  readonly largeBodies: number;
  /** How many requests are under way at once. */
  readonly requests: number;
}

/**
 * The API server refuses request bodies over 3 MiB and etcd objects over 1.5 MiB (kubernetes, apiserver/pkg/server/config.go);
 * JSON with managed fields may be larger than what is stored, so 8 MiB leaves room. 16 large bodies of that size are 128 MiB.
 */
const LIMITS: AdmissionLimits = {
  bodyBytes: 8 * 1024 * 1024,
  largeBodyBytes: 256 * 1024,
  largeBodies: 16,
  requests: 1_024,
};

const PATH = '/validate';

/** The webhook as an express application: `POST /validate`, every fault a well-formed AdmissionReview. */
export function admissionApp({ judge, log, onDecision, draining, limits }: AdmissionAppOptions): Express {
  const { bodyBytes, largeBodyBytes, largeBodies, requests } = { ...LIMITS, ...limits };
  const slots = new Slots(largeBodies);
  let underWay = 0;

  const app = strictApp();

  const admit: RequestHandler = async (request, response, next) => {
    const arrivedAt = performance.now();
    // Ends with the time that the API server gives us, or when the caller has gone.
    const deadline = AbortSignal.timeout(answerWithinMs(request.query['timeout']));
    const gone = new AbortController();
    response.on('close', () => {
      gone.abort();
    });
    response.locals = { arrivedAt, signal: AbortSignal.any([deadline, gone.signal]) } satisfies Locals;
    if (draining()) response.setHeader('connection', 'close');
    underWay += 1;
    response.on('close', () => {
      underWay -= 1;
    });
    if (underWay > requests) {
      refuseUnread(response, overloaded());
      return;
    }
    deadline.addEventListener('abort', () => {
      if (!request.complete) refuseUnread(response, badReview('the request body did not arrive in time'));
    });
    const length = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY);
    if (length < largeBodyBytes) {
      next();
      return;
    }
    try {
      const giveBack = await slots.take(localsOf(response).signal);
      response.on('close', giveBack);
      response.locals['bodyRead'] = giveBack;
      if (gone.signal.aborted) giveBack();
      else next();
    } catch {
      refuseUnread(response, overloaded());
    }
  };

  const validate: RequestHandler = async (request, response) => {
    const { arrivedAt, signal, bodyRead } = localsOf(response);
    const review = readReview(request);
    // The body is not needed any more; the next large one may come in while this review is judged.
    delete request.body;
    bodyRead?.();
    const { verdict, path } = await judge.judge(review, signal);
    answer(response, review.uid, verdict);
    onDecision(decisionOf(review, verdict, path, performance.now() - arrivedAt), review);
  };

  /** Express hands everything that was thrown to this; it takes the place of its HTML page. */
  const onError: ErrorRequestHandler = (error: unknown, _request, response, _next) => {
    const problem = problemOf(error, bodyBytes);
    if (problem === undefined) {
      log.error({ err: error }, 'a review could not be answered');
      refuseUnread(response, unverified(undefined, [{ what: 'the guard', reason: 'internal error' }], DEFAULT_POLICY));
      return;
    }
    log.warn({ problem }, 'a request that is not a readable review was refused');
    if (response.headersSent) return;
    answer(response, error instanceof BadReview ? error.uid : '', badReview(problem));
  };

  app.post(PATH, admit, express.raw({ type: () => true, limit: bodyBytes, inflate: false }), validate, onError);
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

type Locals = {
  readonly arrivedAt: number;
  readonly signal: AbortSignal;
  readonly bodyRead?: () => void;
};

function localsOf(response: Response): Locals {
  return response.locals as Locals;
}

function readReview(request: Request): Review {
  const body: unknown = request.body;
  const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0);
  if (!isUtf8(bytes)) throw new BadReview('the request body is not UTF-8');
  const review = parseReview(bytes.toString('utf8'));
  const type = (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json') throw new BadReview('the content type is not application/json', review.uid);
  return review;
}

function answer(response: Response, uid: string, verdict: Verdict): void {
  if (response.headersSent || response.destroyed) return;
  response.status(200).json(admissionAnswer(uid, verdict));
}

/** Answers a request whose body has not been read. The rest of it is not waited for, so the connection cannot be kept. */
function refuseUnread(response: Response, verdict: Verdict): void {
  if (!response.headersSent && !response.req.complete) response.setHeader('connection', 'close');
  answer(response, '', verdict);
}

function overloaded(): Verdict {
  return unverified(undefined, [{ what: 'the guard', reason: 'too many requests at once' }], DEFAULT_POLICY);
}

/** What is wrong with a request, for its sender; undefined where the fault is ours. */
function problemOf(error: unknown, bodyBytes: number): string | undefined {
  if (error instanceof BadReview) return error.message;
  // body-parser's own errors (https://github.com/expressjs/body-parser#errors)
  switch ((error as { type?: unknown } | null)?.type) {
    case 'entity.too.large':
      return `the request body is larger than ${bodyBytes / 1024 / 1024} MiB`;
    case 'encoding.unsupported':
      return 'the request body is compressed, which admission reviews are not';
    case 'request.aborted':
      return 'the request body broke off';
    case 'request.size.invalid':
      return 'the request body does not have the length that was announced';
    default:
      return undefined;
  }
}

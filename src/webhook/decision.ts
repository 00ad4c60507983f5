import type { Logger } from 'pino';
import type { Review } from '../decision/review.ts';
import type { DecisionPath } from './judgement.ts';
import { toPrintableLine } from '../decision/printable-text.ts';
import type { Verdict } from '../decision/verdict.ts';

/** One answered review, as it is logged and shown. */
export interface Decision {
  readonly uid: string;
  /** Name of the config; empty where the review was not about one. */
  readonly name: string;
  readonly user: string;
  readonly dryRun: boolean;
  readonly verdict: Verdict;
  readonly path: DecisionPath;
  /** Milliseconds from the arrival of the request to the answer. */
  readonly ms: number;
}

/** A decision in a log line; a log of refused prunes must not fill a disk. */
const LOGGED_REFERRERS = 10;

/** The decision about a review that could be read. */
export function toDecision(review: Review, verdict: Verdict, path: DecisionPath, ms: number): Decision {
  return {
    uid: review.uid,
    name: review.config?.name ?? '',
    user: review.user,
    dryRun: review.dryRun,
    verdict,
    path,
    ms,
  };
}

/** Writes one JSON line. Fields are chosen one by one: never a header, a token or an object's body. */
export function logDecision(log: Logger, { uid, name, user, dryRun, verdict, path, ms }: Decision): void {
  const fields = {
    uid: toPrintableLine(uid, 64),
    name: toPrintableLine(name, 253),
    user,
    dryRun,
    verdict: verdict.outcome,
    code: verdict.code,
    ...(verdict.cause === undefined ? {} : { cause: verdict.cause }),
    referrers: verdict.references.slice(0, LOGGED_REFERRERS).map(({ kind, name, field }) => ({ kind, name, field })),
    referrersTotal: verdict.referencesTotal,
    ...(verdict.overrideReason === undefined ? {} : { overrideReason: toPrintableLine(verdict.overrideReason, 256) }),
    path,
    ms: Math.round(ms * 10) / 10,
  };
  if (verdict.outcome === 'allowed') log.info(fields, toPrintableLine(verdict.message, 500));
  else log.warn(fields, toPrintableLine(verdict.message, 2_000));
}

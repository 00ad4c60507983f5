import type { Logger } from 'pino';
import { oneLine } from '../policy/line.ts';
import type { Review } from '../policy/review.ts';
import type { Verdict } from '../policy/verdict.ts';
import type { Path } from './judge.ts';

/** One answered review, as it is logged and shown. */
export interface Decision {
  readonly uid: string;
  /** Name of the config; empty where the review was not about one. */
  readonly name: string;
  readonly user: string;
  readonly dryRun: boolean;
  readonly verdict: Verdict;
  readonly path: Path;
  /** Milliseconds from the arrival of the request to the answer. */
  readonly ms: number;
}

/** A decision in a log line; a log of refused prunes must not fill a disk. */
const LOGGED_REFERRERS = 10;

/** The decision about a review that could be read. */
export function decisionOf(review: Review, verdict: Verdict, path: Path, ms: number): Decision {
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
    uid: oneLine(uid, 64),
    name: oneLine(name, 253),
    user,
    dryRun,
    verdict: verdict.outcome,
    code: verdict.code,
    ...(verdict.cause === undefined ? {} : { cause: verdict.cause }),
    referrers: verdict.referrers.slice(0, LOGGED_REFERRERS).map(({ kind, name, field }) => ({ kind, name, field })),
    referrersTotal: verdict.referrersTotal,
    ...(verdict.overrideReason === undefined ? {} : { overrideReason: oneLine(verdict.overrideReason, 256) }),
    path,
    ms: Math.round(ms * 10) / 10,
  };
  if (verdict.outcome === 'allowed') log.info(fields, oneLine(verdict.message, 500));
  else log.warn(fields, oneLine(verdict.message, 2_000));
}

import type { Logger } from 'pino';
import { toPrintableLine } from '../decision/printable-text.ts';
import type { ReviewHeader } from '../decision/review.ts';
import type { Verdict } from '../decision/verdict.ts';
import type { ConfigState, DecisionPath, Judgement } from './judgement.ts';

export interface Decision {
  readonly uid: string;
  /** The config that is deleted or referenced. Empty if the review was not about one. */
  readonly name: string;
  readonly user: string;
  readonly isDryRun: boolean;
  readonly verdict: Verdict;
  readonly path: DecisionPath;
  readonly configState: ConfigState;
  /** Milliseconds from the arrival of the request to the answer. */
  readonly ms: number;
}

/** A log of denied prunes must not fill a disk. */
const MAX_LOGGED_REFERRERS = 10;

export function toDecision(review: ReviewHeader, judgement: Judgement, ms: number): Decision {
  const { uid, user, isDryRun } = review;
  return { uid, name: judgement.verdict.config ?? '', user, isDryRun, ...judgement, ms };
}

/** Logs selected fields: never a header, a token or the body of an object. */
export function logDecision(log: Logger, { uid, name, user, isDryRun, verdict, path, ms }: Decision): void {
  const { outcome, code, cause, message, references, referencesTotal, overrideReason } = verdict;
  const fields = {
    uid: toPrintableLine(uid, 64),
    name: toPrintableLine(name, 253),
    user,
    dryRun: isDryRun,
    verdict: outcome,
    code,
    cause,
    referrers: references
      .slice(0, MAX_LOGGED_REFERRERS)
      .map(({ kind, name, field }) => ({ kind, name, field })),
    referrersTotal: referencesTotal,
    overrideReason: overrideReason === undefined ? undefined : toPrintableLine(overrideReason, 256),
    path,
    ms: Math.round(ms * 10) / 10,
  };
  if (outcome === 'allowed') log.info(fields, toPrintableLine(message, 500));
  else log.warn(fields, toPrintableLine(message, 2_000));
}

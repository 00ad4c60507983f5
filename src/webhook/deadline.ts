import { parseDuration } from '../decision/duration.ts';

/** Of a webhook's timeout (kubernetes, admissionregistration/v1). A shorter one is from another client. */
const MIN_TIMEOUT_MS = 1_000;
const DEFAULT_TIMEOUT_MS = 10_000;
const MAX_TIMEOUT_MS = 30_000;
/** The guard promises an answer within 80 %. The rest is for the event loop and the network. */
const TIMEOUT_SHARE = 0.76;

/** Computes the deadline of a review from the request's `timeout`. */
export function computeDeadlineMs(timeout: unknown): number {
  const requestedMs = typeof timeout === 'string' ? (parseDuration(timeout) ?? 0) : 0;
  const timeoutMs =
    requestedMs <= 0 ? DEFAULT_TIMEOUT_MS : Math.max(MIN_TIMEOUT_MS, Math.min(requestedMs, MAX_TIMEOUT_MS));
  return Math.floor(timeoutMs * TIMEOUT_SHARE);
}

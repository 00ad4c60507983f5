import { parseDuration } from '../decision/duration.ts';

/** What the API server waits when a webhook does not say (kubernetes, admissionregistration/v1 defaults). */
const DEFAULT_TIMEOUT_MS = 10_000;
/** The longest timeout that a webhook can have. */
const MAX_TIMEOUT_MS = 30_000;
/** We promise an answer within 80 % of the timeout; the difference pays for the event loop and the way back. */
const SHARE = 0.76;

/** By when a review must be answered, in milliseconds after its arrival, from the `timeout` that the API server sends along. */
export function computeDeadlineMs(timeout: unknown): number {
  const asked = typeof timeout === 'string' ? parseDuration(timeout) : undefined;
  const ms = asked === undefined || asked <= 0 ? DEFAULT_TIMEOUT_MS : Math.min(asked, MAX_TIMEOUT_MS);
  return Math.floor(ms * SHARE);
}

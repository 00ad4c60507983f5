/** What the API server waits when a webhook does not say (kubernetes, admissionregistration/v1 defaults). */
const DEFAULT_TIMEOUT_MS = 10_000;
/** The longest timeout that a webhook can have. */
const MAX_TIMEOUT_MS = 30_000;
/** We promise an answer within 80 % of the timeout; the difference pays for the event loop and the way back. */
const SHARE = 0.76;

const DURATION_PART = /(?<value>\d+(?:\.\d+)?)(?<unit>h|ms|m|s|us|µs|ns)/g;
const DURATION = /^(?:\d+(?:\.\d+)?(?:h|ms|m|s|us|µs|ns))+$/;
const UNIT_MS: Readonly<Record<string, number>> = {
  h: 3_600_000,
  m: 60_000,
  s: 1_000,
  ms: 1,
  us: 1e-3,
  µs: 1e-3,
  ns: 1e-6,
};

/** By when a review must be answered, in milliseconds after its arrival, from the `timeout` that the API server sends along. */
export function answerWithinMs(timeout: unknown): number {
  const asked = typeof timeout === 'string' ? parseDuration(timeout) : undefined;
  const ms = asked === undefined || asked <= 0 ? DEFAULT_TIMEOUT_MS : Math.min(asked, MAX_TIMEOUT_MS);
  return Math.floor(ms * SHARE);
}

/** A Go duration (`5s`, `1m30s`, `500ms`) in milliseconds, or undefined where it is none. */
export function parseDuration(text: string): number | undefined {
  if (text.length > 32 || !DURATION.test(text)) return undefined;
  let ms = 0;
  for (const { groups } of text.matchAll(DURATION_PART)) {
    ms += Number(groups?.['value']) * (UNIT_MS[groups?.['unit'] ?? ''] ?? 0);
  }
  return ms;
}

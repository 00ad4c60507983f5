import { parseDuration } from '../common/duration.ts';

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
 * A live read starts every LATE_READ_MS while lists take longer. So reviews are answered in time if a list takes up to
 * 2,500 ms.
 */

/** Of a webhook's timeout (kubernetes, admissionregistration/v1). A shorter one is from another client. */
const MIN_TIMEOUT_MS = 1_000;
const DEFAULT_TIMEOUT_MS = 10_000;
const MAX_TIMEOUT_MS = 30_000;
const TIMEOUT_SHARE = 0.76;

export function computeDeadlineMs(timeout: unknown): number {
  const requestedMs = typeof timeout === 'string' ? (parseDuration(timeout) ?? 0) : 0;
  const timeoutMs =
    requestedMs <= 0 ? DEFAULT_TIMEOUT_MS : Math.max(MIN_TIMEOUT_MS, Math.min(requestedMs, MAX_TIMEOUT_MS));
  return Math.floor(timeoutMs * TIMEOUT_SHARE);
}

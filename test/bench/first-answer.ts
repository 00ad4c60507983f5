import { request } from 'node:https';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Child } from '../e2e/control-plane/child.ts';

export interface WebhookAddress {
  readonly url: string;
  /** The CA of its certificate, PEM. */
  readonly ca: string;
}

interface ReviewResponse {
  readonly allowed: boolean;
  readonly status?: { readonly message?: string };
}

const RETRY_MS = 2;
const START_TIMEOUT_MS = 60_000;

/** Returns the milliseconds from the start of a webhook to its first denial of a config in use, and kills it. */
export async function measureFirstAnswer(address: WebhookAddress, review: Buffer, start: () => Child): Promise<number> {
  const startedAt = performance.now();
  const child = start();
  try {
    for (;;) {
      const response = await sendReview(address, review).catch(() => undefined);
      const ms = performance.now() - startedAt;
      if (response !== undefined && isDeniedAsInUse(response)) return ms;
      if (ms > START_TIMEOUT_MS) throw new Error(`No right answer after ${START_TIMEOUT_MS / 1_000} s.`);
      await sleep(RETRY_MS);
    }
  } finally {
    await child.stop('SIGKILL');
  }
}

/** Until it has read the cluster, a webhook denies for another reason. */
function isDeniedAsInUse({ allowed, status }: ReviewResponse): boolean {
  if (allowed) throw new Error('allowed the deletion of a config in use');
  return status?.message?.includes('is in use by') === true;
}

/** @throws Error if the webhook is unreachable */
async function sendReview({ url, ca }: WebhookAddress, review: Buffer): Promise<ReviewResponse> {
  const headers = { 'content-type': 'application/json', 'content-length': review.length };
  const body = await new Promise<unknown>((resolve, reject) => {
    const outgoing = request(`${url}?timeout=5s`, { ca, method: 'POST', headers, agent: false }, (incoming) => {
      json(incoming).then(resolve, reject);
    });
    outgoing.on('error', reject).end(review);
  });
  return (body as { readonly response: ReviewResponse }).response;
}

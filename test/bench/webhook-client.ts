import { Agent, request } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { ALLOW_DELETION_ANNOTATION } from '../../src/decision/settings.ts';
import type { Child } from '../e2e/control-plane/child.ts';
import { machineConfig } from '../e2e/support/objects.ts';
import { NAME, reviewBody, UID } from '../support/review.ts';

/** How a webhook is reached. */
export interface WebhookAddress {
  readonly url: string;
  /** The CA of its certificate, PEM. */
  readonly ca: string;
}

/** The response of an AdmissionReview. */
export interface ReviewResponse {
  readonly uid: string;
  readonly allowed: boolean;
  readonly status?: { readonly message?: string };
}

/** The figures of {@link measureFirstAnswer} are too high by at most this. */
const RETRY_MS = 2;
const START_TIMEOUT_MS = 60_000;
/** The size of a review without its config. */
const ENVELOPE_BYTES = 745;

/** Sends reviews to a webhook without an API server between, over keep-alive connections. */
export class WebhookClient {
  readonly #url: string;
  readonly #agent: Agent;

  /** `servername`: the name in the certificate, if it is not the host of the URL. */
  constructor({ url, ca }: WebhookAddress, maxSockets = 1, servername?: string) {
    this.#url = `${url}?timeout=5s`;
    this.#agent = new Agent({
      ca,
      keepAlive: true,
      maxSockets,
      ...(servername === undefined ? {} : { servername }),
    });
  }

  /** @throws Error if the webhook is unreachable */
  async send(review: Buffer): Promise<ReviewResponse> {
    const headers = { 'content-type': 'application/json', 'content-length': review.length };
    const body = await new Promise<Buffer>((resolve, reject) => {
      const outgoing = request(this.#url, { method: 'POST', agent: this.#agent, headers }, (incoming) => {
        buffer(incoming).then(resolve, reject);
      });
      outgoing.on('error', reject).end(review);
    });
    return (JSON.parse(body.toString('utf8')) as { readonly response: ReviewResponse }).response;
  }

  /** @throws Error unless the webhook allows the deletion */
  async expectAllowed(review: Buffer): Promise<void> {
    const response = await this.send(review);
    if (response.uid === UID && response.allowed) return;
    throw new Error(`${this.#url} answered ${JSON.stringify(response)}`);
  }

  /**
   * Starts the webhook, sends a review until the answer is right, and kills the webhook. Returns the milliseconds from
   * the start to the answer. `isRight` returns false to retry, and throws if the answer is wrong.
   */
  async measureFirstAnswer(
    review: Buffer,
    isRight: (response: ReviewResponse) => boolean,
    start: () => Child,
  ): Promise<number> {
    const startedAt = performance.now();
    const child = start();
    try {
      for (;;) {
        const response = await this.send(review).catch(() => undefined);
        const ms = performance.now() - startedAt;
        if (response !== undefined && isRight(response)) return ms;
        if (ms > START_TIMEOUT_MS) throw new Error(`No right answer after ${START_TIMEOUT_MS / 1_000} s.`);
        await sleep(RETRY_MS);
      }
    } finally {
      this.close();
      await child.stop('SIGKILL');
    }
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** A dry-run review of the deletion of a config. */
export function buildReview(config: string): Buffer {
  const oldObject = { metadata: { name: config, uid: 'c-uid' } };
  return Buffer.from(JSON.stringify(reviewBody({ name: config, oldObject, dryRun: true })));
}

/**
 * A dry-run review of about this many bytes, of a config with the break-glass annotation: the guard answers it without
 * reading the cluster and without an Event.
 */
export function buildOverriddenReview(bytes: number): Buffer {
  const annotations = { [ALLOW_DELETION_ANNOTATION]: 'measured' };
  const { metadata, ...config } = machineConfig({ name: NAME, annotations, bytes: bytes - ENVELOPE_BYTES });
  const oldObject = { ...config, metadata: { ...metadata, uid: 'c-uid' } };
  return Buffer.from(JSON.stringify(reviewBody({ oldObject, dryRun: true })));
}

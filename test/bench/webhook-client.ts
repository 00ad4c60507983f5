import { Agent, request } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { ALLOW_DELETION_ANNOTATION } from '../../src/decision/settings.ts';
import type { Child } from '../e2e/control-plane/child.ts';
import { machineConfig } from '../e2e/support/objects.ts';
import { reviewBody, UID } from '../support/review.ts';

export interface WebhookAddress {
  readonly url: string;
  /** The CA of its certificate, PEM. */
  readonly ca: string;
}

export interface ConfigIdentity {
  readonly name: string;
  readonly uid: string;
}

export interface ReviewResponse {
  readonly uid: string;
  readonly allowed: boolean;
  readonly status?: { readonly message?: string };
}

const RETRY_MS = 2;
const START_TIMEOUT_MS = 60_000;
/** The size of a review without its config. */
const ENVELOPE_BYTES = 745;

/** Sends reviews directly to a webhook over keep-alive connections. */
export class WebhookClient {
  readonly #url: string;
  readonly #agent: Agent;

  /** `servername`: the name in the certificate if it is not the host of the URL. */
  constructor({ url, ca }: WebhookAddress, maxSockets = 1, servername?: string) {
    this.#url = `${url}?timeout=5s`;
    const tlsName = servername === undefined ? {} : { servername };
    this.#agent = new Agent({ ca, keepAlive: true, maxSockets, ...tlsName });
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
   * Returns the milliseconds from the start of a webhook to the first right answer, and kills the webhook.
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
export function buildReview({ name, uid }: ConfigIdentity): Buffer {
  const oldObject = { metadata: { name, uid } };
  return Buffer.from(JSON.stringify(reviewBody({ name, oldObject, dryRun: true })));
}

/** Until it has read the cluster, a webhook denies for another reason. */
export function isDeniedAsInUse({ allowed, status }: ReviewResponse): boolean {
  if (allowed) throw new Error('allowed the deletion of a config in use');
  return status?.message?.includes('is in use by') === true;
}

/**
 * A dry-run review of this size, which the guard allows because of an annotation. It knows from its watch that the
 * config exists, and reads nothing else.
 */
export function buildOverriddenReview(config: ConfigIdentity, bytes: number): Buffer {
  const annotations = { [ALLOW_DELETION_ANNOTATION]: 'measured' };
  const { metadata, ...content } = machineConfig({
    name: config.name,
    annotations,
    bytes: bytes - ENVELOPE_BYTES,
  });
  const oldObject = { ...content, metadata: { ...metadata, uid: config.uid } };
  return Buffer.from(JSON.stringify(reviewBody({ name: config.name, oldObject, dryRun: true })));
}

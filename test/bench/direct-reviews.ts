import { Agent, request } from 'node:https';
import { buffer } from 'node:stream/consumers';

import { ALLOW_DELETION_ANNOTATION } from '../../src/decision/settings.ts';
import { machineConfig } from '../e2e/support/objects.ts';
import { NAME, reviewBody, UID } from '../support/review.ts';

/** A webhook that is asked without an API server between, over kept connections. */
export interface WebhookClient {
  readonly url: string;
  readonly agent: Agent;
}

/** The part of an AdmissionReview that answers. */
export interface DirectAnswer {
  readonly uid: string;
  readonly allowed: boolean;
  readonly status?: { readonly message?: string };
}

/** Where it is, and what makes it trusted. */
export interface WebhookServer {
  readonly url: string;
  /** PEM of the authority of its certificate. */
  readonly ca: string;
  /** The name in its certificate, where that is not the one in the URL. */
  readonly servername?: string;
}

/** `parallel`: at most so many connections. */
export function webhookClient({ url, ...tls }: WebhookServer, parallel = 1): WebhookClient {
  return { url, agent: new Agent({ ...tls, keepAlive: true, maxSockets: parallel }) };
}

/**
 * The body of a review of about so many bytes, in which a config is overridden by its annotation: answered without a look at the
 * cluster and, as a dry run, without an Event.
 */
export function overriddenReview(bytes: number): Buffer {
  const body = (size: number) => JSON.stringify(reviewBody({ oldObject: overridden(size), dryRun: true }));
  const least = body(0).length;
  return Buffer.from(bytes <= least ? body(0) : body(JSON.stringify(overridden(0)).length + bytes - least));
}

function overridden(bytes: number): object {
  const config = machineConfig({ name: NAME, annotations: { [ALLOW_DELETION_ANNOTATION]: 'measured' }, bytes });
  return { ...config, metadata: { ...config.metadata, uid: 'c-uid' } };
}

/** The body of a review of the deletion of this config, a dry run. */
export function reviewAbout(config: string): Buffer {
  return Buffer.from(
    JSON.stringify(reviewBody({ name: config, oldObject: { metadata: { name: config, uid: 'c-uid' } }, dryRun: true })),
  );
}

/** What the webhook answers. Rejects where it cannot be reached. */
export async function answerTo({ url, agent }: WebhookClient, body: Buffer): Promise<DirectAnswer> {
  const headers = { 'content-type': 'application/json', 'content-length': body.length };
  const answer = await new Promise<Buffer>((resolve, reject) => {
    const asked = request(`${url}?timeout=5s`, { method: 'POST', agent, headers }, (response) => {
      buffer(response).then(resolve, reject);
    });
    asked.on('error', reject);
    asked.end(body);
  });
  return (JSON.parse(answer.toString('utf8')) as { readonly response: DirectAnswer }).response;
}

/** Throws unless the review is allowed. */
export async function askDirectly(client: WebhookClient, body: Buffer): Promise<void> {
  const answer = await answerTo(client, body);
  if (answer.uid !== UID || !answer.allowed) throw new Error(`${client.url} answered ${JSON.stringify(answer)}`);
}

import { isUtf8 } from 'node:buffer';
import { toConfigName } from '../decision/config-name.ts';
import type { Review, ReviewedConfig } from '../decision/review.ts';
import { type Outline, parseOutline, MalformedJson } from './json-outline.ts';
import { toPrintableLine } from '../decision/printable-text.ts';

/** The request cannot be answered as a question, because it is none or lacks a part that the answer depends on. */
export class BadReview extends Error {
  override readonly name = 'BadReview';
  /** The uid to answer with; empty where even that could not be read. */
  readonly uid: string;

  constructor(message: string, uid = '') {
    super(message);
    this.uid = uid;
  }
}

const GROUP = 'machineconfiguration.openshift.io';
const RESOURCE = 'machineconfigs';

/** All that is ever looked at. The rest, up to megabytes of `spec`, is passed over. */
const OUTLINE: Outline = {
  apiVersion: 'value',
  kind: 'value',
  request: {
    uid: 'value',
    name: 'value',
    operation: 'value',
    dryRun: 'value',
    resource: { group: 'value', resource: 'value' },
    userInfo: { username: 'value' },
    oldObject: { metadata: { name: 'value', uid: 'value', annotations: 'values' } },
  },
};

/**
 * Reads the body of an admission request (`admission.k8s.io/v1`). The name comes from `oldObject`: during a
 * DELETECOLLECTION `request.name` is empty (kubernetes, apiserver/pkg/registry/rest/delete.go). Unknown fields are
 * ignored, so that a newer API server is understood.
 *
 * @throws BadReview for anything that is not a readable review
 */
export function parseReview(body: Buffer): Review {
  if (body.length === 0) throw new BadReview('the request has no body');
  if (!isUtf8(body)) throw new BadReview('the request body is not UTF-8');
  const review = outlined(body);
  if (review === undefined) throw new BadReview('the request body is not a JSON object');
  const request = asRecord(review['request']);
  const uid = typeof request?.['uid'] === 'string' ? request['uid'] : '';
  if (review['kind'] !== 'AdmissionReview' || review['apiVersion'] !== 'admission.k8s.io/v1') {
    throw new BadReview(
      `expected an AdmissionReview of admission.k8s.io/v1, got ${described(review['kind'])} of ${described(review['apiVersion'])}`,
      uid,
    );
  }
  if (request === undefined) throw new BadReview('the AdmissionReview has no request');
  if (uid === '') throw new BadReview('the request has no uid');
  return {
    uid,
    dryRun: request['dryRun'] === true,
    user: userOf(request),
    config: asksForDeletionOfConfig(request, uid) ? deletedConfig(request, uid) : undefined,
  };
}

function outlined(body: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    return parseOutline(body, OUTLINE);
  } catch (error) {
    if (error instanceof MalformedJson) throw new BadReview(`the request body ${error.message}`);
    throw error;
  }
}

function asksForDeletionOfConfig(request: Record<string, unknown>, uid: string): boolean {
  const resource = asRecord(request['resource']);
  if (typeof request['operation'] !== 'string') throw new BadReview('the request has no operation', uid);
  if (typeof resource?.['resource'] !== 'string' || typeof resource['group'] !== 'string') {
    throw new BadReview('the request does not say which resource it is about', uid);
  }
  // Any version of the group counts: matchPolicy Equivalent may bring the object in another one some day.
  return request['operation'] === 'DELETE' && resource['group'] === GROUP && resource['resource'] === RESOURCE;
}

function deletedConfig(request: Record<string, unknown>, uid: string): ReviewedConfig {
  const metadata = asRecord(asRecord(request['oldObject'])?.['metadata']);
  if (metadata === undefined)
    throw new BadReview('the request has no oldObject, so it cannot be told what is deleted', uid);
  const name = metadata['name'];
  if (typeof name !== 'string' || name === '') throw new BadReview('oldObject has no name', uid);
  const requested = request['name'];
  if (typeof requested === 'string' && requested !== '' && requested !== name) {
    throw new BadReview(`the request names ${described(requested)} but oldObject is ${described(name)}`, uid);
  }
  const annotations = new Map<string, string>();
  for (const [key, value] of Object.entries(asRecord(metadata['annotations']) ?? {})) {
    if (typeof value === 'string') annotations.set(key, value);
  }
  return { name: toConfigName(name), uid: typeof metadata['uid'] === 'string' ? metadata['uid'] : '', annotations };
}

function userOf(request: Record<string, unknown>): string {
  const username = asRecord(request['userInfo'])?.['username'];
  return typeof username === 'string' && username !== '' ? toPrintableLine(username, 256) : 'unknown';
}

function described(value: unknown): string {
  return typeof value === 'string' ? `"${toPrintableLine(value, 80)}"` : 'nothing';
}

function asRecord(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

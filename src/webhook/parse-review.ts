import { isUtf8 } from 'node:buffer';
import { toConfigName } from '../decision/config-name.ts';
import { toPrintableLine } from '../decision/printable-text.ts';
import type { ConfigToDelete, Review } from '../decision/review.ts';
import { MalformedJson, type Outline, parseOutline } from './json-outline.ts';

/** The request is not a review, or lacks a field that the answer depends on. */
export class BadReview extends Error {
  override readonly name = 'BadReview';
  /** Empty if the request has no readable uid. */
  readonly uid: string;

  constructor(message: string, uid = '') {
    super(message);
    this.uid = uid;
  }
}

const API_VERSION = 'admission.k8s.io/v1';
const GROUP = 'machineconfiguration.openshift.io';
const RESOURCE = 'machineconfigs';

/** The guard skips all other fields, such as megabytes of `spec`. */
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
 * Parses the body of an admission request (`admission.k8s.io/v1`). The name comes from `oldObject`: during a
 * DELETECOLLECTION `request.name` is empty (kubernetes, apiserver/pkg/registry/rest/delete.go).
 *
 * @throws BadReview
 */
export function parseReview(body: Buffer): Review {
  if (body.length === 0) throw new BadReview('the request has no body');
  if (!isUtf8(body)) throw new BadReview('the request body is not UTF-8');
  const { kind, apiVersion, ...envelope } = parseBody(body);
  const request = asRecord(envelope['request']);
  const uid = typeof request?.['uid'] === 'string' ? request['uid'] : '';
  if (kind !== 'AdmissionReview' || apiVersion !== API_VERSION) {
    const actual = `${quoteValue(kind)} of ${quoteValue(apiVersion)}`;
    throw new BadReview(`expected an AdmissionReview of ${API_VERSION}, got ${actual}`, uid);
  }
  if (request === undefined) throw new BadReview('the AdmissionReview has no request');
  if (uid === '') throw new BadReview('the request has no uid');
  return {
    uid,
    isDryRun: request['dryRun'] === true,
    user: parseUser(request),
    config: isConfigDeletion(request, uid) ? parseOldObject(request, uid) : undefined,
  };
}

function parseBody(body: Buffer): Readonly<Record<string, unknown>> {
  let outline: Readonly<Record<string, unknown>> | undefined;
  try {
    outline = parseOutline(body, OUTLINE);
  } catch (error) {
    throw error instanceof MalformedJson ? new BadReview(`the request body ${error.message}`) : error;
  }
  if (outline === undefined) throw new BadReview('the request body is not a JSON object');
  return outline;
}

function isConfigDeletion(request: Record<string, unknown>, uid: string): boolean {
  const { operation } = request;
  const { group, resource } = asRecord(request['resource']) ?? {};
  if (typeof operation !== 'string') throw new BadReview('the request has no operation', uid);
  if (typeof resource !== 'string' || typeof group !== 'string') {
    throw new BadReview('the request names no resource', uid);
  }
  // Any version of the group counts, because matchPolicy Equivalent may deliver a newer one.
  return operation === 'DELETE' && group === GROUP && resource === RESOURCE;
}

function parseOldObject(request: Record<string, unknown>, uid: string): ConfigToDelete {
  const metadata = asRecord(asRecord(request['oldObject'])?.['metadata']);
  if (metadata === undefined) {
    throw new BadReview('the request has no oldObject, so the deleted object is unknown', uid);
  }
  const { name } = metadata;
  if (typeof name !== 'string' || name === '') throw new BadReview('oldObject has no name', uid);
  const requestName = request['name'];
  if (typeof requestName === 'string' && requestName !== '' && requestName !== name) {
    throw new BadReview(
      `the request names ${quoteValue(requestName)} but oldObject is ${quoteValue(name)}`,
      uid,
    );
  }
  const annotations = new Map<string, string>();
  for (const [key, value] of Object.entries(asRecord(metadata['annotations']) ?? {})) {
    if (typeof value === 'string') annotations.set(key, value);
  }
  return {
    name: toConfigName(name),
    uid: typeof metadata['uid'] === 'string' ? metadata['uid'] : '',
    annotations,
  };
}

function parseUser(request: Record<string, unknown>): string {
  const username = asRecord(request['userInfo'])?.['username'];
  return typeof username === 'string' && username !== '' ? toPrintableLine(username, 256) : 'unknown';
}

function quoteValue(value: unknown): string {
  return typeof value === 'string' ? `"${toPrintableLine(value, 80)}"` : 'nothing';
}

function asRecord(value: unknown): Record<string, unknown> | undefined {
  const isRecord = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isRecord ? (value as Record<string, unknown>) : undefined;
}

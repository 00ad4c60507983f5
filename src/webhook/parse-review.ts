import { isUtf8 } from 'node:buffer';
import { isObjectName, toConfigName } from '../decision/config-name.ts';
import { toPrintableLine } from '../decision/printable-text.ts';
import type { ConfigToDelete, Review, ReviewHeader } from '../decision/review.ts';
import { ALLOW_DELETION_ANNOTATION } from '../decision/settings.ts';
import { MCO_GROUP } from '../kube/api-paths.ts';
import { MalformedJson, Outline, parseOutline } from './json-outline.ts';

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

/** Kubernetes limits the names of objects (RFC 1123). uids have 36 characters. */
const MAX_NAME = 253;
const MAX_UID = 64;
const MAX_TEXT = 256;
/** Kubernetes rejects objects with more (kubernetes, apimachinery/pkg/api/validation/objectmeta.go). */
const MAX_ANNOTATION_BYTES = 256 * 1024;

/** One character more shows that a value is too long. */
export const NAME_LENGTH = MAX_NAME + 1;
const UID = MAX_UID + 1;
const KEYWORD = MAX_TEXT;

/**
 * Creates the outline of a review. The guard skips all other fields, such as megabytes of `spec`.
 *
 * @param objects the wanted members of `object` and `oldObject`
 */
export function createReviewOutline(objects: Readonly<Record<string, Outline>>): Outline {
  return new Outline({
    apiVersion: KEYWORD,
    kind: KEYWORD,
    request: new Outline({
      uid: UID,
      name: NAME_LENGTH,
      operation: KEYWORD,
      dryRun: KEYWORD,
      resource: new Outline({ group: KEYWORD, resource: KEYWORD }),
      userInfo: new Outline({ username: MAX_TEXT }),
      ...objects,
    }),
  });
}

/** @param lengths the maximum lengths of the wanted values */
export function createAnnotationsOutline(lengths: Readonly<Record<string, number>>): Outline {
  return new Outline(lengths, MAX_ANNOTATION_BYTES);
}

const OUTLINE = createReviewOutline({
  oldObject: new Outline({
    metadata: new Outline({
      name: NAME_LENGTH,
      uid: UID,
      annotations: createAnnotationsOutline({ [ALLOW_DELETION_ANNOTATION]: MAX_TEXT }),
    }),
  }),
});

/** The API server's encoder writes the uid first (kubernetes, admission/v1/types.go). */
const UID_AT_START =
  /^\s*\{(?:"(?:kind|apiVersion)":"[^"]{0,64}",){0,2}"request":\{"uid":"(?<uid>[-\w]{1,64})"/;
const MAX_START_BYTES = 512;

/**
 * Finds the uid in the first bytes of a review, for an answer before the rest was read. Without the uid the API
 * server takes the answer for a failed call (docs/adr/0003).
 *
 * @returns an empty string if it is not there
 */
export function findUid(start: Buffer): string {
  return UID_AT_START.exec(start.toString('latin1', 0, MAX_START_BYTES))?.groups?.['uid'] ?? '';
}

/** The request of an AdmissionReview. */
export interface ReviewRequest {
  readonly header: ReviewHeader;
  readonly operation: string;
  readonly group: string;
  readonly resource: string;
  /** The wanted fields. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/**
 * Parses the body of an admission request (`admission.k8s.io/v1`). The name comes from `oldObject`: during a
 * DELETECOLLECTION `request.name` is empty (kubernetes, apiserver/pkg/registry/rest/delete.go).
 *
 * Yields after each slice of the body, so that other work can go first.
 *
 * @throws BadReview
 */
export function* parseReview(body: Buffer): Generator<undefined, Review> {
  const { header, operation, group, resource, fields } = yield* parseRequest(body, OUTLINE);
  // Any version of the group counts, because matchPolicy Equivalent may deliver a newer one.
  const isConfigDeletion = operation === 'DELETE' && group === MCO_GROUP && resource === 'machineconfigs';
  return { ...header, config: isConfigDeletion ? parseOldObject(fields, header.uid) : undefined };
}

/**
 * Parses the fields of every admission request. Yields after each slice of the body.
 *
 * @throws BadReview
 */
export function* parseRequest(body: Buffer, outline: Outline): Generator<undefined, ReviewRequest> {
  if (body.length === 0) throw new BadReview('the request has no body');
  if (!isUtf8(body)) throw new BadReview('the request body is not UTF-8');
  const { kind, apiVersion, ...envelope } = yield* parseBody(body, outline);
  const fields = asRecord(envelope['request']);
  const uid = readText(fields?.['uid'], MAX_UID);
  if (kind !== 'AdmissionReview' || apiVersion !== API_VERSION) {
    const actual = `${quoteValue(kind)} of ${quoteValue(apiVersion)}`;
    throw new BadReview(`expected an AdmissionReview of ${API_VERSION}, got ${actual}`, uid);
  }
  if (fields === undefined) throw new BadReview('the AdmissionReview has no request');
  if (uid === '') throw new BadReview('the request has no valid uid');
  const { operation } = fields;
  const { group, resource } = asRecord(fields['resource']) ?? {};
  if (typeof operation !== 'string') throw new BadReview('the request has no operation', uid);
  if (typeof resource !== 'string' || typeof group !== 'string') {
    throw new BadReview('the request names no resource', uid);
  }
  const header = { uid, isDryRun: fields['dryRun'] === true, user: parseUser(fields) };
  return { header, operation, group, resource, fields };
}

function* parseBody(body: Buffer, wanted: Outline): Generator<undefined, Readonly<Record<string, unknown>>> {
  let outline: Readonly<Record<string, unknown>> | undefined;
  try {
    outline = yield* parseOutline(body, wanted);
  } catch (error) {
    throw error instanceof MalformedJson
      ? new BadReview(`the request body ${error.message}`, findUid(body))
      : error;
  }
  if (outline === undefined) throw new BadReview('the request body is not a JSON object');
  return outline;
}

function parseOldObject(request: Readonly<Record<string, unknown>>, uid: string): ConfigToDelete {
  const metadata = asRecord(asRecord(request['oldObject'])?.['metadata']);
  if (metadata === undefined) {
    throw new BadReview('the request has no oldObject, so the deleted object is unknown', uid);
  }
  const name = readText(metadata['name'], MAX_NAME);
  if (!isObjectName(name)) throw new BadReview('oldObject has no valid name', uid);
  const requestName = request['name'];
  if (typeof requestName === 'string' && requestName !== '' && requestName !== name) {
    throw new BadReview(
      `the request names ${quoteValue(requestName)} but oldObject is ${quoteValue(name)}`,
      uid,
    );
  }
  const allowDeletion = asRecord(metadata['annotations'])?.[ALLOW_DELETION_ANNOTATION];
  return {
    name: toConfigName(name),
    uid: readText(metadata['uid'], MAX_UID),
    ...(typeof allowDeletion === 'string' ? { allowDeletion } : {}),
  };
}

function parseUser(request: Readonly<Record<string, unknown>>): string {
  const username = asRecord(request['userInfo'])?.['username'];
  return typeof username === 'string' && username !== '' ? toPrintableLine(username, MAX_TEXT) : 'unknown';
}

/** Empty if the value is not a text of at most this length. */
function readText(value: unknown, maxLength: number): string {
  return typeof value === 'string' && value.length <= maxLength ? value : '';
}

function quoteValue(value: unknown): string {
  return typeof value === 'string' ? `"${toPrintableLine(value, 80)}"` : 'nothing';
}

export function asRecord(value: unknown): Record<string, unknown> | undefined {
  const isRecord = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isRecord ? (value as Record<string, unknown>) : undefined;
}

import { isObjectName } from '../decision/references.ts';
import { toPrintableLine } from '../common/printable-text.ts';
import type { ConfigToDelete, Review } from '../decision/verdict.ts';
import { ALLOW_DELETION_ANNOTATION } from '../decision/settings.ts';
import { MCO_GROUP } from '../kube/api-paths.ts';
import { parseHoldableConfig } from '../kube/holdable-config.ts';

/** There is no review to judge. */
export class ReviewFault extends Error {
  /** Empty if the request has no readable uid. */
  readonly uid: string;

  constructor(message: string, uid = '') {
    super(message);
    this.uid = uid;
  }
}

/** The request is not a review, or lacks a field that the answer depends on. */
export class BadReview extends ReviewFault {}

const API_VERSION = 'admission.k8s.io/v1';

/** Kubernetes limits the names of objects (RFC 1123). uids have 36 characters. */
const MAX_NAME = 253;
const MAX_UID = 64;
const MAX_TEXT = 256;

/**
 * A config with 5,000 files has 80,000. JSON.parse takes up to a microsecond for each, and could take a second for a
 * body of 4 MiB that consists of them (docs/internals/decisions/0008).
 */
const MAX_TOKENS = 100_000;
const [QUOTE, BACKSLASH, COMMA, OPEN_BRACKET, OPEN_BRACE] = [0x22, 0x5c, 0x2c, 0x5b, 0x7b];

/** The API server's encoder writes the uid first (kubernetes, admission/v1/types.go). */
const UID_AT_START = /^\s*\{(?:"(?:kind|apiVersion)":"[^"]{0,64}",){0,2}"request":\{"uid":"(?<uid>[-\w]{1,64})"/;
const MAX_START_BYTES = 512;

/**
 * Finds the uid in the first bytes of a review, for an answer before the rest was read. Without the uid the API
 * server takes the answer for a failed call, and `failurePolicy` decides.
 *
 * @returns an empty string if it is not there
 */
export function findUid(start: Buffer): string {
  return UID_AT_START.exec(start.toString('latin1', 0, MAX_START_BYTES))?.groups?.['uid'] ?? '';
}

/**
 * Parses the body of an admission request (`admission.k8s.io/v1`). The name comes from `oldObject`: during a
 * DELETECOLLECTION `request.name` is empty (kubernetes, apiserver/pkg/registry/rest/delete.go).
 *
 * @throws BadReview
 */
export function parseReview(body: Buffer): Review {
  const { kind, apiVersion, request } = parseBody(body);
  const fields = asRecord(request);
  const uid = readText(fields?.['uid'], MAX_UID);
  if (kind !== 'AdmissionReview' || apiVersion !== API_VERSION) {
    const actual = `${quoteValue(kind)} of ${quoteValue(apiVersion)}`;
    throw new BadReview(`expected an AdmissionReview of ${API_VERSION}, got ${actual}`, uid);
  }
  if (fields === undefined) throw new BadReview('the AdmissionReview has no request');
  if (uid === '') throw new BadReview('the request has no valid uid');
  const { operation, dryRun } = fields;
  const { group, resource } = asRecord(fields['resource']) ?? {};
  if (typeof operation !== 'string') throw new BadReview('the request has no operation', uid);
  if (typeof resource !== 'string' || typeof group !== 'string') {
    throw new BadReview('the request names no resource', uid);
  }
  // Any version of the group counts, because matchPolicy Equivalent may deliver a newer one.
  const isConfigDeletion = operation === 'DELETE' && group === MCO_GROUP && resource === 'machineconfigs';
  return {
    uid,
    isDryRun: dryRun === true,
    user: parseUser(fields),
    config: isConfigDeletion ? parseOldObject(fields, uid) : undefined,
  };
}

/** The message of the parser can contain a part of the body. */
function parseBody(body: Buffer): Readonly<Record<string, unknown>> {
  if (body.length === 0) throw new BadReview('the request has no body');
  if (hasTooManyTokens(body)) throw new BadReview('the request body has too many values', findUid(body));
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch {
    throw new BadReview('the request body is not JSON', findUid(body));
  }
  const review = asRecord(value);
  if (review === undefined) throw new BadReview('the request body is not a JSON object');
  return review;
}

/** Whether more strings, arrays, objects and commas begin than a config can have. */
function hasTooManyTokens(body: Buffer): boolean {
  let count = 0;
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at];
    if (byte === QUOTE) at = findStringEnd(body, at);
    else if (byte !== COMMA && byte !== OPEN_BRACKET && byte !== OPEN_BRACE) continue;
    count += 1;
    if (count > MAX_TOKENS) return true;
  }
  return false;
}

/** Returns the position of the closing quote, or the length of the body. */
function findStringEnd(body: Buffer, start: number): number {
  let end = body.indexOf(QUOTE, start + 1);
  if (end === -1) return body.length;
  if (body[end - 1] !== BACKSLASH) return end;
  end = start + 1;
  while (end < body.length && body[end] !== QUOTE) end += body[end] === BACKSLASH ? 2 : 1;
  return end;
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
    throw new BadReview(`the request names ${quoteValue(requestName)} but oldObject is ${quoteValue(name)}`, uid);
  }
  const allowDeletion = asRecord(metadata['annotations'])?.[ALLOW_DELETION_ANNOTATION];
  return {
    ...parseHoldableConfig({ ...metadata, name }),
    uid: readText(metadata['uid'], MAX_UID),
    ...(typeof allowDeletion === 'string' ? { allowDeletion: cutText(allowDeletion) } : {}),
  };
}

function parseUser(request: Readonly<Record<string, unknown>>): string {
  const username = asRecord(request['userInfo'])?.['username'];
  return typeof username === 'string' && username !== '' ? toPrintableLine(username, MAX_TEXT) : 'unknown';
}

/** Copies the characters, because V8 would keep the whole text for a part of it. */
function cutText(text: string): string {
  return Buffer.from(text.slice(0, MAX_TEXT)).toString();
}

/** Empty if the value is not a text of at most this length. */
function readText(value: unknown, maxLength: number): string {
  return typeof value === 'string' && value.length <= maxLength ? value : '';
}

function quoteValue(value: unknown): string {
  return typeof value === 'string' ? `"${toPrintableLine(value, 80)}"` : 'nothing';
}

function asRecord(value: unknown): Record<string, unknown> | undefined {
  const isRecord = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isRecord ? (value as Record<string, unknown>) : undefined;
}

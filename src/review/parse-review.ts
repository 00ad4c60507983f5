import { JsonReader, type WantedMembers } from '../common/json-reader.ts';
import { toPrintableLine } from '../common/printable-text.ts';
import { ALLOW_DELETION_ANNOTATION } from '../api/annotations.ts';
import { MCO_GROUP } from '../mco/api-paths.ts';
import { findOverrideReason, parseHoldableConfig } from '../mco/machine-config.ts';
import { BadReview } from './review-fault.ts';
import type { ConfigToDelete, Review } from './review.ts';
import { isObjectName } from '../kube/api-object.ts';

const API_VERSION = 'admission.k8s.io/v1';

/** uids have 36 characters. */
const MAX_UID = 64;
const MAX_TEXT = 256;

const WANTED: WantedMembers = {
  kind: true,
  apiVersion: true,
  request: {
    uid: true,
    operation: true,
    name: true,
    dryRun: true,
    resource: { group: true, resource: true },
    userInfo: { username: true },
    oldObject: {
      metadata: {
        name: true,
        uid: true,
        creationTimestamp: true,
        ownerReferences: { kind: true, name: true },
        annotations: { [ALLOW_DELETION_ANNOTATION]: true },
      },
    },
  },
};

/** The API server's encoder writes the uid first (kubernetes, admission/v1/types.go). */
const UID_AT_START = /^\s*\{(?:"(?:kind|apiVersion)":"[^"]{0,64}",){0,2}"request":\{"uid":"(?<uid>[-\w]{1,64})"/;
const MAX_START_BYTES = 512;

/**
 * Finds the uid in the first bytes of a review, or returns an empty text. Without the uid the API server takes the
 * answer for a failed call, and `failurePolicy` decides.
 */
export function findUid(start: Buffer): string {
  return UID_AT_START.exec(start.toString('latin1', 0, MAX_START_BYTES))?.groups?.['uid'] ?? '';
}

/**
 * Parses the body of a request, or throws BadReview. The name comes from `oldObject`: during a DELETECOLLECTION
 * `request.name` is empty (kubernetes, apiserver/pkg/registry/rest/delete.go).
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
  const reader = new JsonReader(body);
  let value: unknown;
  try {
    // Everything else of a config can have thousands of files or annotations.
    value = reader.members(WANTED);
    if (!reader.isAtEnd) throw new SyntaxError('text follows');
  } catch {
    throw new BadReview('the request body is not JSON', findUid(body));
  }
  const review = asRecord(value);
  if (review === undefined) throw new BadReview('the request body is not a JSON object');
  return review;
}

function parseOldObject(request: Readonly<Record<string, unknown>>, uid: string): ConfigToDelete {
  const metadata = asRecord(asRecord(request['oldObject'])?.['metadata']);
  if (metadata === undefined) {
    throw new BadReview('the request has no oldObject, so the deleted object is unknown', uid);
  }
  const { name } = metadata;
  if (typeof name !== 'string' || !isObjectName(name)) throw new BadReview('oldObject has no valid name', uid);
  const requestName = request['name'];
  if (typeof requestName === 'string' && requestName !== '' && requestName !== name) {
    throw new BadReview(`the request names ${quoteValue(requestName)} but oldObject is ${quoteValue(name)}`, uid);
  }
  const allowDeletion = asRecord(metadata['annotations'])?.[ALLOW_DELETION_ANNOTATION];
  return {
    ...parseHoldableConfig({ ...metadata, name }),
    uid: readText(metadata['uid'], MAX_UID),
    // Copies the characters, because V8 would keep the whole text for a part of it.
    ...(typeof allowDeletion === 'string' && {
      allowDeletion: Buffer.from(findOverrideReason(allowDeletion) ?? '').toString(),
    }),
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

function asRecord(value: unknown): Record<string, unknown> | undefined {
  const isRecord = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isRecord ? (value as Record<string, unknown>) : undefined;
}

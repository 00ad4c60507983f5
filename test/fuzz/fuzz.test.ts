import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { decide } from '../../src/review/decide.ts';
import { DEFAULT_SETTINGS } from '../../src/api/settings.ts';
import { type ApiObject, MalformedObject } from '../../src/kube/api-object.ts';
import { parseCollection } from '../../src/kube/api-paths.ts';
import { MalformedList } from '../../src/kube/errors.ts';
import { JsonListParser, METADATA, type ObjectType } from '../../src/kube/lists/list-parser.ts';
import { ProtobufListParser } from '../../src/kube/lists/protobuf-list-parser.ts';
import { parseNodeReferrer } from '../../src/mco/parse-referrer.ts';
import { parseReview } from '../../src/review/parse-review.ts';
import { encodeAnswer, encodeList } from '../kube/lists/protobuf-encoding.ts';
import { checkProperty, countRuns } from '../support/check-property.ts';
import { NAME, reviewBody } from '../support/review.ts';
import { inputsNear } from './inputs.ts';
import { ALLOW_DELETION_ANNOTATION } from '../../src/api/annotations.ts';
import { REFERRER_RESOURCES } from '../../src/mco/resources.ts';
import { toClusterState } from '../support/cluster-state.ts';
import { toAdmissionReview } from '../../src/review/admission-response.ts';
import { BadReview } from '../../src/review/review-fault.ts';
import { toConfigName } from '../../src/mco/machine-config.ts';

const RUNS = 5_000;
const MCO = 'machineconfiguration.openshift.io';
const ANNOTATIONS = { [`${MCO}/currentConfig`]: NAME, [`${MCO}/desiredConfig`]: NAME, other: 'x' };

/** Returns undefined if the parser throws the expected error. */

function tryParse<Result>(parse: () => Result, Expected: new (...args: never[]) => Error) {
  try {
    return parse();
  } catch (error) {
    if (error instanceof Expected) return undefined;
    throw error;
  }
}

function runReview(bytes: Buffer): string {
  const review = tryParse(() => parseReview(bytes), BadReview);
  if (review === undefined) return 'bad review';
  const state = toClusterState(review.config?.name ?? toConfigName(''), [parseNodeReferrer(NODE)], {
    readAt: new Date(0),
  });
  const verdict = decide(review, state, DEFAULT_SETTINGS, { createdAt: () => undefined });
  const { uid, allowed } = toAdmissionReview(review, verdict).response;
  if (uid === '') throw new Error('the answer has no uid');
  if (allowed && isDeletionOfUsedConfig(bytes)) throw new Error('allowed the deletion of a config in use');
  return allowed ? 'allowed' : 'denied';
}

function isDeletionOfUsedConfig(bytes: Buffer): boolean {
  interface Request {
    operation?: unknown;
    resource?: { group?: unknown; resource?: unknown };
    oldObject?: { metadata?: { name?: unknown; annotations?: Record<string, unknown> | null } };
  }
  // The guard does not look for errors in the parts that it skips. The API server sends none.
  const { request } = tryParse(() => JSON.parse(bytes.toString('utf8')) as { request?: Request }, SyntaxError) ?? {};
  const { name, annotations } = request?.oldObject?.metadata ?? {};
  const reason = annotations?.[ALLOW_DELETION_ANNOTATION];
  const isOverridden = typeof reason === 'string' && reason.trim() !== '';
  const { group, resource } = request?.resource ?? {};
  const isConfig = group === MCO && resource === 'machineconfigs' && name === NAME;
  return request?.operation === 'DELETE' && isConfig && !isOverridden;
}

/** Parses a list and the objects in it. `parse` returns its resourceVersion. */
function runList(parse: (onObject: (object: ApiObject) => void) => string): string {
  const version = tryParse(
    () =>
      parse((object) => {
        for (const resource of REFERRER_RESOURCES) tryParse(() => resource.parse(object), MalformedObject);
      }),
    MalformedList,
  );
  if (version === undefined) return 'malformed';
  return version === '' ? 'no version' : 'list';
}

function parse(parser: JsonListParser | ProtobufListParser, bytes: Buffer, chunkBytes: number): string {
  for (let at = 0; at < bytes.length; at += chunkBytes + 1) {
    parser.write(bytes.subarray(at, at + chunkBytes + 1));
    parser.parse();
  }
  return parser.end();
}

const TYPES: readonly ObjectType[] = REFERRER_RESOURCES.map(({ kind, paths: [path] }) => {
  const { apiVersion } = parseCollection(path);
  return { apiVersion, kind };
});
const NODE = { metadata: { name: 'w0', annotations: ANNOTATIONS } };
const LISTS = [
  NODE,
  { metadata: { name: 'worker' }, spec: { configuration: { name: NAME } } },
  { metadata: { name: 'b' }, spec: { machineConfig: { name: NAME } } },
].map((item, index) => {
  const { apiVersion, kind } = TYPES[index] ?? METADATA;
  const items = [{ ...item, status: {} }];
  return { apiVersion, kind: `${kind}List`, metadata: { resourceVersion: '7' }, items };
});

const OVERRIDE = { [ALLOW_DELETION_ANNOTATION]: 'CHG-7' };
const OVERRIDDEN = { oldObject: { metadata: { name: NAME, uid: 'u', annotations: OVERRIDE } } };
const REVIEWS = [reviewBody(), reviewBody({ operation: 'UPDATE' }), reviewBody(OVERRIDDEN)];
const ITEMS = [{ name: 'w0', annotations: ANNOTATIONS, labels: { a: 'b' } }];
const toJson = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

/** Inputs that once reached new code, in base64. */
function readSeeds(file: string): readonly Buffer[] {
  const text = readFileSync(new URL(`seeds/${file}.txt`, import.meta.url), 'utf8');
  return (text.match(/.+/g) ?? []).map((line) => Buffer.from(line, 'base64'));
}

// `run` parses the bytes, in chunks if it streams, and returns the outcome. It throws on a bug.
test.each([
  { name: 'review', seeds: [...REVIEWS.map(toJson), ...readSeeds('review')], run: runReview },
  {
    name: 'JSON list',
    seeds: [...LISTS.map(toJson), ...readSeeds('JSON-list')],
    run: (bytes: Buffer, size: number) =>
      runList((onObject) => parse(new JsonListParser(onObject, TYPES), bytes, size)),
  },
  {
    name: 'protobuf list',
    seeds: [encodeAnswer(encodeList(ITEMS)), ...readSeeds('protobuf-list')],
    run: (bytes: Buffer, size: number) => runList((onObject) => parse(new ProtobufListParser(onObject), bytes, size)),
  },
])('$name reads its seeds and inputs near them without harm', ({ seeds, run }) => {
  const outcomes = new Map<string, number>();
  const property = fc.property(inputsNear(seeds), fc.nat(1_000), (input, chunk) => {
    const outcome = run(input, chunk);
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  });
  checkProperty(
    property,
    RUNS,
    seeds.map((seed) => [seed, 7]),
  );
  // If all inputs had the same outcome, they would test nothing.
  expect(outcomes.size).toBeGreaterThan(1);
  for (const count of outcomes.values()) expect(count).toBeGreaterThan(countRuns(RUNS) / 1_000);
});

import { MalformedList } from '../../src/kube/errors.ts';
import { ALLOW_DELETION_ANNOTATION, DEFAULT_SETTINGS } from '../../src/decision/settings.ts';
import { type ApiObject, MalformedObject } from '../../src/kube/api-object.ts';
import { toAdmissionReview } from '../../src/webhook/admission-response.ts';
import { JsonListParser } from '../../src/kube/lists/json-list-parser.ts';
import type { ListParser } from '../../src/kube/lists/list-parser.ts';
import { ProtobufListParser } from '../../src/kube/lists/protobuf-list-parser.ts';
import { decide, decideWithoutClusterState } from '../../src/decision/decide.ts';
import {
  parseBuildReferrer,
  NODE_REFERENCE_ANNOTATIONS,
  parseNodeReferrer,
  parsePoolReferrer,
} from '../../src/references/parse-referrer.ts';
import type { ClusterState } from '../../src/decision/references.ts';
import { parseOutline, MalformedJson } from '../../src/webhook/json-outline.ts';
import { BadReview, parseReview } from '../../src/webhook/parse-review.ts';
import { encodeAnswer, encodeList } from '../cluster/protobuf-encoding.ts';
import type { Random } from '../simulation/random.ts';
import { NAME, reviewBody } from '../support/review.ts';
import { keptSeeds } from './seeds.ts';

/** Something that takes bytes from outside. Throws where it does what it must not. */
export interface Target {
  readonly name: string;
  readonly seeds: readonly Buffer[];
  /** What came of it, in a word: cases that all end alike test nothing. */
  readonly take: (bytes: Buffer, random: Random) => string;
}

const MCO = 'machineconfiguration.openshift.io';
const IN_USE: ClusterState = {
  referrers: [parseNodeReferrer({ metadata: { name: 'worker-0', annotations: { [`${MCO}/currentConfig`]: NAME } } })],
  unreadable: [],
};

function takeReview(bytes: Buffer): string {
  let review: ReturnType<typeof parseReview>;
  try {
    review = parseReview(bytes);
  } catch (error) {
    if (error instanceof BadReview && typeof error.uid === 'string') return 'bad review';
    throw error;
  }
  const verdict =
    decideWithoutClusterState(review, DEFAULT_SETTINGS) ?? decide(review, IN_USE, DEFAULT_SETTINGS, new Date(0));
  const { response } = JSON.parse(JSON.stringify(toAdmissionReview(review.uid, verdict))) as ReturnType<
    typeof toAdmissionReview
  >;
  if (response.uid === '' || typeof response.allowed !== 'boolean') throw new Error('The answer is none.');
  if (response.allowed && asksForTheUsedConfig(bytes)) throw new Error('A config in use was let go.');
  return response.allowed ? 'allowed' : 'denied';
}

// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const CONTROL = /[\u0000-\u001F]/g;

/** The same question, asked of the bytes in the plainest way. */
function asksForTheUsedConfig(bytes: Buffer): boolean {
  // A control character in a long string that nobody asks for is not minded, and JSON.parse does mind it.
  const text = bytes.toString('utf8').replaceAll(CONTROL, ' ');
  const request = (JSON.parse(text) as { request?: Record<string, unknown> }).request as {
    operation?: unknown;
    resource?: { group?: unknown; resource?: unknown };
    oldObject?: { metadata?: { name?: unknown; annotations?: Record<string, unknown> | null } };
  };
  const { name, annotations } = request.oldObject?.metadata ?? {};
  const reason = annotations?.[ALLOW_DELETION_ANNOTATION];
  const overridden = typeof reason === 'string' && reason.trim() !== '';
  const { group, resource } = request.resource ?? {};
  return (
    request.operation === 'DELETE' && group === MCO && resource === 'machineconfigs' && name === NAME && !overridden
  );
}

/** Hands a list to its reader in pieces, as a connection does. */
function takeList(bytes: Buffer, random: Random, readerFor: (keep: (object: ApiObject) => void) => ListParser): string {
  const reader = readerFor((object) => {
    for (const read of [parseNodeReferrer, parsePoolReferrer, parseBuildReferrer]) readable(() => read(object));
  });
  try {
    for (let at = 0; at < bytes.length;) {
      const length = 1 + random.below(bytes.length);
      reader.write(bytes.subarray(at, at + length));
      at += length;
    }
    return reader.end().resourceVersion === '' ? 'no version' : 'read';
  } catch (error) {
    if (error instanceof MalformedList) return 'broken';
    throw error;
  }
}

function readable(read: () => unknown): void {
  try {
    read();
  } catch (error) {
    if (!(error instanceof MalformedObject)) throw error;
  }
}

const ANNOTATIONS = { [`${MCO}/currentConfig`]: NAME, [`${MCO}/desiredConfig`]: NAME, other: 'x' };
const LISTS = [
  {
    kind: 'NodeList',
    metadata: { resourceVersion: '7' },
    items: [{ metadata: { name: 'w0', annotations: ANNOTATIONS } }],
  },
  {
    kind: 'MachineConfigPoolList',
    metadata: { resourceVersion: '7' },
    items: [{ metadata: { name: 'worker' }, spec: { configuration: { name: NAME } }, status: {} }],
  },
  {
    kind: 'MachineOSBuildList',
    metadata: { resourceVersion: '7' },
    items: [{ metadata: { name: 'b' }, spec: { machineConfig: { name: NAME } }, status: { conditions: [] } }],
  },
];

/** What the passing-over reader and JSON.parse make of the same bytes: where both read them, they read the same. */
function takeOutline(bytes: Buffer): string {
  const wanted = { kind: 'value', request: { uid: 'value', oldObject: { metadata: 'values' } } } as const;
  let outline: Readonly<Record<string, unknown>> | undefined;
  try {
    outline = parseOutline(bytes, wanted);
  } catch (error) {
    if (error instanceof MalformedJson) return 'refused';
    throw error;
  }
  const json = JSON.parse(bytes.toString('utf8').replaceAll(CONTROL, ' ')) as Record<string, unknown> | null;
  const request = json?.['request'] as { uid?: unknown } | null | undefined;
  const read = outline?.['request'] as { uid?: unknown } | null | undefined;
  for (const [theirs, ours] of [
    [json?.['kind'], outline?.['kind']],
    [request?.uid, read?.uid],
  ]) {
    if (typeof theirs === 'string' && theirs !== ours && !theirs.includes(' ')) throw new Error('Read differently.');
  }
  return outline === undefined ? 'no object' : 'read';
}

/** Everything of the guard that reads what others wrote. */
const READERS: readonly Target[] = [
  {
    name: 'outline',
    seeds: [Buffer.from(JSON.stringify(reviewBody())), Buffer.from('{"a":[{},[1.5e-7,true,"\\u00e9\\n"]]}')],
    take: takeOutline,
  },
  {
    name: 'review',
    seeds: [
      reviewBody(),
      reviewBody({ operation: 'UPDATE' }),
      reviewBody({
        oldObject: { metadata: { name: NAME, uid: 'u', annotations: { [ALLOW_DELETION_ANNOTATION]: 'CHG-7' } } },
      }),
    ].map((body) => Buffer.from(JSON.stringify(body))),
    take: takeReview,
  },
  {
    name: 'JSON list',
    seeds: LISTS.map((list) => Buffer.from(JSON.stringify(list))),
    take: (bytes, random) => takeList(bytes, random, (keep) => new JsonListParser(keep)),
  },
  {
    name: 'protobuf list',
    seeds: [
      encodeAnswer(
        encodeList({ resourceVersion: '7', items: [{ name: 'w0', annotations: ANNOTATIONS, labels: { a: 'b' } }] }),
      ),
    ],
    take: (bytes, random) =>
      takeList(bytes, random, (keep) => new ProtobufListParser(keep, NODE_REFERENCE_ANNOTATIONS)),
  },
];

/** With the inputs that were found to get further than others. */
export const TARGETS = READERS.map((target) => ({ ...target, seeds: [...target.seeds, ...keptSeeds(target.name)] }));

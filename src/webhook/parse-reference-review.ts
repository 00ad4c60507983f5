import type { NamedReference, Referrer } from '../decision/references.ts';
import type { ReferenceReview } from '../decision/review.ts';
import { type ApiObject, MalformedObject } from '../kube/api-object.ts';
import { MCO_GROUP } from '../kube/api-paths.ts';
import { NODE_REFERENCE_ANNOTATIONS } from '../references/parse-referrer.ts';
import { NODES, POOLS } from '../references/sources.ts';
import { Outline } from './json-outline.ts';
import {
  asRecord,
  BadReview,
  createAnnotationsOutline,
  createReviewOutline,
  NAME_LENGTH,
  parseRequest,
} from './parse-review.ts';

const CONFIGURATION = new Outline({ configuration: new Outline({ name: NAME_LENGTH }) });
const OBJECT = new Outline({
  metadata: new Outline({
    name: NAME_LENGTH,
    deletionTimestamp: NAME_LENGTH,
    annotations: createAnnotationsOutline(
      Object.fromEntries(NODE_REFERENCE_ANNOTATIONS.map((key) => [key, NAME_LENGTH])),
    ),
  }),
  spec: CONFIGURATION,
  status: CONFIGURATION,
});
/** By API group and resource. */
const SOURCES = new Map([
  [`/${NODES.name}`, NODES],
  [`${MCO_GROUP}/${POOLS.name}`, POOLS],
]);
const OUTLINE = createReviewOutline({ object: OBJECT, oldObject: OBJECT });

/**
 * Parses the review of an update of a node or a pool. A review of another request changes no reference.
 *
 * Yields after each slice of the body, so that other work can go first.
 *
 * @throws BadReview
 */
export function* parseReferenceReview(body: Buffer): Generator<undefined, ReferenceReview> {
  const { header, operation, group, resource, fields } = yield* parseRequest(body, OUTLINE);
  const source = SOURCES.get(`${group}/${resource}`);
  if (operation !== 'UPDATE' || source === undefined) return { ...header, references: [] };
  const parseObject = (key: 'object' | 'oldObject'): Referrer => {
    const object = asRecord(fields[key]);
    if (object === undefined) throw new BadReview(`the request has no ${key}`, header.uid);
    try {
      return source.parse(object as ApiObject);
    } catch (error) {
      throw error instanceof MalformedObject ? new BadReview(error.message, header.uid) : error;
    }
  };
  return { ...header, references: findChangedReferences(parseObject('oldObject'), parseObject('object')) };
}

/** Only strong references count, because the operator does not read the configs of weak ones. */
function findChangedReferences(before: Referrer, { kind, name, references }: Referrer): NamedReference[] {
  return references
    .filter(({ field, config, strength }) => {
      const isKept = before.references.some((old) => old.field === field && old.config === config);
      return strength === 'strong' && !isKept;
    })
    .map((reference) => ({ kind, name, ...reference }));
}

import { toConfigName } from '../decision/config-name.ts';
import type { NamedReference, ReferrerKind } from '../decision/references.ts';
import type { ReferenceReview } from '../decision/review.ts';
import { MCO_GROUP } from '../kube/api-paths.ts';
import { Outline } from './json-outline.ts';
import {
  asRecord,
  BadReview,
  createAnnotationsOutline,
  createReviewOutline,
  NAME_LENGTH,
  parseRequest,
} from './parse-review.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The strong references of a kind. The operator does not read the configs of weak ones. */
interface ReferrerFields {
  readonly kind: ReferrerKind;
  readonly fields: readonly string[];
  readonly read: (object: Fields, field: string) => unknown;
}

const NODE: ReferrerFields = {
  kind: 'Node',
  fields: ['currentConfig', 'desiredConfig'],
  read: (object, field) => asRecord(asRecord(object['metadata'])?.['annotations'])?.[`${MCO_GROUP}/${field}`],
};
const POOL: ReferrerFields = {
  kind: 'MachineConfigPool',
  fields: ['spec', 'status'],
  read: (object, field) => asRecord(asRecord(object[field])?.['configuration'])?.['name'],
};
/** By API group and resource. */
const REFERRERS = new Map([
  ['/nodes', NODE],
  [`${MCO_GROUP}/machineconfigpools`, POOL],
]);

const CONFIGURATION = new Outline({ configuration: new Outline({ name: NAME_LENGTH }) });
const OBJECT = new Outline({
  metadata: new Outline({
    name: NAME_LENGTH,
    annotations: createAnnotationsOutline(
      Object.fromEntries(NODE.fields.map((field) => [`${MCO_GROUP}/${field}`, NAME_LENGTH])),
    ),
  }),
  spec: CONFIGURATION,
  status: CONFIGURATION,
});
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
  const referrer = REFERRERS.get(`${group}/${resource}`);
  if (operation !== 'UPDATE' || referrer === undefined) return { ...header, references: [] };
  const [object, oldObject] = [asRecord(fields['object']), asRecord(fields['oldObject'])];
  const name = asRecord(object?.['metadata'])?.['name'];
  if (object === undefined || oldObject === undefined || typeof name !== 'string') {
    throw new BadReview('the request has no object with a name, or no oldObject', header.uid);
  }
  const { kind, read } = referrer;
  const references = referrer.fields.flatMap((field): readonly NamedReference[] => {
    const config = read(object, field);
    const isChanged = typeof config === 'string' && config !== '' && config !== read(oldObject, field);
    return isChanged ? [{ kind, name, field, config: toConfigName(config), strength: 'strong' }] : [];
  });
  return { ...header, references };
}

import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { ALLOW_DELETION_ANNOTATION, DEFAULT_SETTINGS } from '../../src/decision/settings.ts';
import { toAdmissionReview } from '../../src/webhook/admission-response.ts';
import { decide } from '../../src/decision/decide.ts';
import { BadReview, parseReview } from '../../src/webhook/parse-review.ts';
import { NAME, reviewBody } from '../support/review.ts';

type Json = Record<string, unknown>;

/** Every path into a review, down to the config's annotations. */
function pathsOf(value: unknown, prefix: readonly string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [[...prefix]];
  return [[...prefix], ...Object.entries(value).flatMap(([key, inner]) => pathsOf(inner, [...prefix, key]))];
}

const PATHS = pathsOf(reviewBody()).filter((path) => path.length > 0);

/** The review with something else at a path; undefined leaves the field out. */
function exchanged(path: readonly string[], value: unknown): Json {
  const review = structuredClone(reviewBody());
  let at: Json = review;
  for (const key of path.slice(0, -1)) at = at[key] as Json;
  at[path.at(-1) ?? ''] = value;
  return review;
}

/** What a hostile or broken sender might put there. */
const anything = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom(
    undefined,
    null,
    '',
    ' ',
    true,
    0,
    [],
    {},
    'DELETE',
    'rendered-',
    `${NAME}\u0000`,
    '__proto__',
    'ｒendered-x',
  ),
  fc.string({ unit: 'binary', maxLength: 300 }),
);

const IN_USE = {
  kind: 'Node',
  name: 'w0',
  references: [{ field: 'currentConfig', config: NAME, strength: 'strong' }],
} as never;

test('with anything in the place of any part, a config in use is never allowed to go without a reason in writing', () => {
  let answered = 0;
  fc.assert(
    fc.property(fc.constantFrom(...PATHS), anything, (path, value) => {
      const sent = exchanged(path, value);
      let review;
      try {
        review = parseReview(Buffer.from(JSON.stringify(sent)));
      } catch (error) {
        expect(error).toBeInstanceOf(BadReview);
        return;
      }
      answered += 1;
      const verdict = decide(review, { referrers: [IN_USE], unreadable: [] }, DEFAULT_SETTINGS, new Date(0));
      const answer = toAdmissionReview(review.uid, verdict);
      expect(JSON.parse(JSON.stringify(answer))).toMatchObject({
        kind: 'AdmissionReview',
        response: { uid: review.uid },
      });
      if (!answer.response.allowed) return;
      // Allowed: then it was no deletion of this config, or somebody wrote down why.
      const request = sent['request'] as Json;
      const { metadata } = request['oldObject'] as { metadata: { name: string; annotations?: Json } };
      const resource = request['resource'] as Json;
      const isDeletion =
        request['operation'] === 'DELETE' &&
        resource['group'] === 'machineconfiguration.openshift.io' &&
        resource['resource'] === 'machineconfigs';
      const reason = metadata.annotations?.[ALLOW_DELETION_ANNOTATION];
      expect(isDeletion && metadata.name === NAME && typeof reason !== 'string').toBe(false);
    }),
    { numRuns: 20_000 },
  );
  // Not vacuous: many of them are readable.
  expect(answered).toBeGreaterThan(2_000);
});

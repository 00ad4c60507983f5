import { decide } from '../../src/decision/decide.ts';
import { DEFAULT_SETTINGS } from '../../src/decision/settings.ts';
import { decideReferenceChange } from '../../src/decision/reference-change.ts';
import type { ReferenceReview, Review } from '../../src/decision/review.ts';
import type { ReviewJudge } from '../../src/webhook/judgement.ts';
import { parseReview } from '../../src/webhook/parse-review.ts';

export const NAME = 'rendered-worker-a4983d88dabdc54ecf977ee120fd3796';

export const UID = '0df28fbd-5f5f-11e8-bc74-36e6bb280816';

/** A review as kube-apiserver 1.33 sends it on a DELETE, with parts of the request exchanged. */
export function reviewBody(change: Record<string, unknown> = {}) {
  const kind = { group: 'machineconfiguration.openshift.io', version: 'v1', kind: 'MachineConfig' };
  const resource = {
    group: 'machineconfiguration.openshift.io',
    version: 'v1',
    resource: 'machineconfigs',
  };
  return {
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1',
    request: {
      uid: UID,
      kind,
      resource,
      requestKind: kind,
      requestResource: resource,
      name: NAME,
      operation: 'DELETE',
      userInfo: { username: 'kube:admin', groups: ['system:masters'] },
      object: null,
      oldObject: { metadata: { name: NAME, uid: 'c-uid', annotations: { a: 'b' } }, spec: {} },
      dryRun: false,
      options: { kind: 'DeleteOptions', apiVersion: 'meta.k8s.io/v1' },
      ...change,
    },
  };
}

/** A review of an update of a node as kube-apiserver 1.33 sends it, with parts of the request exchanged. */
export function nodeUpdateBody(change: Record<string, unknown> = {}) {
  const kind = { group: '', version: 'v1', kind: 'Node' };
  const resource = { group: '', version: 'v1', resource: 'nodes' };
  const spec = { providerID: 'baremetalhost:///worker-0' };
  const status = { images: [], nodeInfo: { machineID: '1' } };
  const object = (annotations: Record<string, string>) => ({
    kind: 'Node',
    apiVersion: 'v1',
    metadata: { name: 'worker-0', uid: 'n-uid', annotations },
    spec,
    status,
  });
  const key = 'machineconfiguration.openshift.io/desiredConfig';
  return reviewBody({
    kind,
    resource,
    requestKind: kind,
    requestResource: resource,
    name: 'worker-0',
    operation: 'UPDATE',
    object: object({ [key]: NAME }),
    oldObject: object({}),
    ...change,
  });
}

/** Judges as if every config existed, so another code is due to the request alone. */
export const allowReferences: ReviewJudge<ReferenceReview>['judge'] = async (review) => {
  const existences = new Map(
    review.references.map(({ config }) => [config, { state: 'exists' }] as const),
  );
  const verdict = decideReferenceChange(review, existences, 'Enforce');
  return await Promise.resolve({ verdict, path: 'index', configState: 'unknown' });
};

/** Reads a review without a pause. */
export function parseAtOnce(body: Buffer): Review {
  return finish(parseReview(body));
}

/** Runs all slices of the work. */
export function finish<Result>(work: Generator<undefined, Result>): Result {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

/** Judges as if every config were unused, so a denial is due to the request alone. */
export const allowUnused: ReviewJudge['judge'] = async (review) => {
  const verdict = decide(review, { referrers: [], unreadable: [] }, DEFAULT_SETTINGS, new Date());
  return await Promise.resolve({ verdict, path: 'live', configState: 'exists' });
};

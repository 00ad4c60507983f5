import { decide } from '../../src/review/decide.ts';
import { DEFAULT_SETTINGS } from '../../src/api/settings.ts';
import { toConfigName } from '../../src/mco/machine-config.ts';
import { toClusterState } from './cluster-state.ts';
import type { AnsweredCall, ReviewJudge } from '../../src/review/review.ts';

export const NAME = 'rendered-worker-a4983d88dabdc54ecf977ee120fd3796';

export const UID = '0df28fbd-5f5f-11e8-bc74-36e6bb280816';

/** A review as kube-apiserver 1.33 sends it on a DELETE, with parts of the request exchanged. */
export function reviewBody(change: Record<string, unknown> = {}) {
  const kind = { group: 'machineconfiguration.openshift.io', version: 'v1', kind: 'MachineConfig' };
  const resource = { group: 'machineconfiguration.openshift.io', version: 'v1', resource: 'machineconfigs' };
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

/** Judges as if every config were unused, so a denial is due to the request alone. */
export const allowUnused: ReviewJudge['judge'] = async (review) => {
  const verdict = decide(review, toClusterState(toConfigName(''), []), DEFAULT_SETTINGS, {
    createdAt: () => undefined,
  });
  return await Promise.resolve({ review, verdict, path: 'live', configState: 'exists' });
};

export const CALL: AnsweredCall = { ms: 12, address: '10.0.0.1', hasAuthorization: false };

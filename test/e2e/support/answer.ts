import { statusOf, type KubeResponse } from '../control-plane/kube-client.ts';
import { isDeniedInUse } from './cluster.ts';

/**
 * The answer to a deletion:
 * - `in use`, `unverified`: the guard denies with MCG_IN_USE or MCG_UNVERIFIED;
 * - `allowed`: the API server deletes;
 * - `guard unreachable`: the API server denies because the guard did not answer (failurePolicy Fail);
 * - `no answer`: the API server is unreachable or has no storage;
 * - `unexpected`: anything else.
 */
export type Answer = 'in use' | 'unverified' | 'allowed' | 'guard unreachable' | 'no answer' | 'unexpected';

/** An API server that starts, or that cannot use etcd. */
const API_SERVER_TROUBLE = new RegExp(
  'not yet ready to handle request|before all known HTTP paths have been installed|' +
    String.raw`storage is \(re\)initializing|etcdserver|timed out|timeout`,
  'i',
);

/** Classifies the response to a DELETE. */
export function answerOf(response: KubeResponse): Answer {
  const { status } = response;
  const { message = '' } = statusOf(response);
  if (status === 200) return 'allowed';
  if (isDeniedInUse(response)) return 'in use';
  if (status === 503 && message.includes('denied the request: MCG_UNVERIFIED')) return 'unverified';
  const isWebhookFailure = message.includes('failed calling webhook "guard.machineconfig-guard.io"');
  if (status === 500 && isWebhookFailure) return 'guard unreachable';
  return API_SERVER_TROUBLE.test(message) ? 'no answer' : 'unexpected';
}

import { statusOf, type KubeResponse } from '../../control-plane/kube-client.ts';

/**
 * What somebody gets who asks for a deletion:
 * - `in use`, `unverified`: the guard's refusals, MCG_IN_USE and MCG_UNVERIFIED;
 * - `let go`: the deletion takes place;
 * - `guard not reached`: the API server refuses because it got no answer of the guard (failurePolicy Fail);
 * - `no answer`: the API server itself is away, or not able to do anything;
 * - `unexpected`: anything else.
 */
export type Answer = 'in use' | 'unverified' | 'let go' | 'guard not reached' | 'no answer' | 'unexpected';

/** What an API server says of itself, not of the deletion: starting, or without its own storage. */
const OWN_TROUBLE =
  /not yet ready to handle request|before all known HTTP paths have been installed|storage is \(re\)initializing|etcdserver|timed out|timeout/i;

/** What this response to a DELETE is. */
export function answerOf(response: KubeResponse): Answer {
  const { status } = response;
  const { message = '' } = statusOf(response);
  if (status === 200) return 'let go';
  if (status === 403 && message.includes('denied the request: MCG_IN_USE')) return 'in use';
  if (status === 503 && message.includes('denied the request: MCG_UNVERIFIED')) return 'unverified';
  if (status === 500 && message.includes('failed calling webhook "guard.machineconfig-guard.io"')) {
    return 'guard not reached';
  }
  return OWN_TROUBLE.test(message) ? 'no answer' : 'unexpected';
}

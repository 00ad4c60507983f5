import { type Advice, advise } from '../../client/output/advice.ts';
import { countNoun, joinFirst, joinWithAnd, toPrintableLine } from '../../common/printable-text.ts';
import type { ConfigName } from '../../decision/config-name.ts';
import type { KubeApi } from '../../kube/api.ts';
import {
  countMissingMachines,
  findFailedNodes,
  findNodesOfConfig,
  findUnreadyNodes,
  type RestorePool,
  type RestoreState,
} from './restore-state.ts';

/** What a step waits for. */
export interface Wait {
  /** Follows the word "waiting". */
  readonly reason: string;
  /** What a person can do to end it. */
  readonly advice: Advice | undefined;
}

const MAX_REASON_LENGTH = 200;
const MAX_NAMED_NODES = 3;

/** @throws ClusterAccessError, or the signal's reason */
export async function findFailedNodesWait(
  api: KubeApi,
  state: RestoreState,
  name: ConfigName,
  signal: AbortSignal,
): Promise<Wait | undefined> {
  const failed = findFailedNodes(findNodesOfConfig(state, name));
  const example = failed.find(({ reason }) => reason !== '') ?? failed[0];
  if (example === undefined) return undefined;
  const names = failed.map(({ referrer }) => referrer.name);
  const verb = failed.length === 1 ? 'leaves' : 'leave';
  const quote = example.reason === '' ? '' : ` ("${toPrintableLine(example.reason, MAX_REASON_LENGTH)}")`;
  const reason = `until ${joinFirst(names, MAX_NAMED_NODES)} ${verb} ${example.state}${quote}`;
  const unready = await findUnreadyNodes(api, names.slice(0, MAX_NAMED_NODES), signal);
  if (unready.length === 0) return { reason, advice: undefined };
  // The daemon of such a node does not run, or cannot reach the API server.
  const isOne = unready.length === 1;
  const text = `start ${isOne ? 'it' : 'them'}, or delete a node whose machine is lost`;
  return {
    reason: `${reason}; ${joinWithAnd(unready)} ${isOne ? 'is' : 'are'} not Ready`,
    advice: advise(text, ['oc', 'delete', 'node', ...unready]),
  };
}

export function findMissingMachinesWait(state: RestoreState, pool: RestorePool): Wait | undefined {
  const { pendingRequests } = state;
  const count = countMissingMachines(state, pool);
  if (count === 0) return undefined;
  const reason = `for ${countNoun(count, 'machine')} to join pool ${pool.referrer.name}`;
  if (pendingRequests.length === 0) return { reason, advice: undefined };
  const nodes = [...new Set(pendingRequests.map(({ node }) => node ?? 'an unknown node'))];
  const names = pendingRequests.map((request) => request.name);
  return {
    reason: `${reason}; certificate requests of ${joinWithAnd(nodes)} are pending`,
    advice: advise('check their requestors, then approve them', ['oc', 'adm', 'certificate', 'approve', ...names]),
  };
}

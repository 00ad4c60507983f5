import { readPendingCertificateRequests } from '../../client/certificate-requests.ts';
import { readClusterSnapshot, readControlPlaneSize } from '../../client/cluster-reader.ts';
import { advise } from '../../client/output/advice.ts';
import {
  type ClusterSnapshot,
  countMissingMachines,
  hasFailed,
  type InspectedNode,
  type InspectedPool,
  listReferrers,
  type PendingCertificateRequest,
} from '../../diagnosis/cluster-snapshot.ts';
import { toPausePatch, toUnpausePatch } from '../../diagnosis/restore-pause.ts';
import type { Write } from '../../client/write.ts';
import { countNoun, joinFirst } from '../../common/printable-text.ts';
import { quote } from '../../diagnosis/quote.ts';
import { shell } from '../../diagnosis/shell-command.ts';
import { findUsedConfigs, hasStrongReference } from '../../mco/referrer.ts';
import type { KubeApi } from '../../kube/api.ts';
import { objectPath } from '../../kube/api-paths.ts';
import type { RenderedConfig } from '../../rendered-config/rendered-config.ts';
import type { Step, Wait } from '../steps/step-run.ts';
import { MACHINE_CONFIGS_PATH, MCO_GROUP, POOLS_PATH } from '../../mco/api-paths.ts';
import type { ConfigName } from '../../mco/machine-config.ts';
import { isObjectName } from '../../kube/api-object.ts';

/** What a restore depends on. Without pools that are being deleted. */
export interface RestoreState extends ClusterSnapshot {
  readonly pendingRequests: readonly PendingCertificateRequest[];
  /** How many control plane machines a person has named. Undefined if nobody has. */
  readonly givenMachines: number | undefined;
}

/**
 * Reads the live state. What an earlier run of the command was told about the number of machines stands in its pause.
 * @param given how many control plane machines the command line names
 * @throws ClusterAccessError, or the signal's reason
 */
export async function readRestoreState(
  api: KubeApi,
  given: number | undefined,
  signal: AbortSignal,
): Promise<RestoreState> {
  const { requests: pendingRequests } = await readPendingCertificateRequests(api, signal);
  const snapshot = await readClusterSnapshot(api, undefined, signal);
  const pools = snapshot.pools.filter(({ isTerminating }) => isTerminating !== true);
  const stored = pools.find(({ pausedForMachines }) => pausedForMachines !== undefined)?.pausedForMachines;
  const givenMachines = given ?? stored;
  const controlPlaneSize =
    givenMachines === undefined ? await readControlPlaneSize(api, signal) : { masters: givenMachines, arbiters: 0 };
  return { ...snapshot, pools, pendingRequests, controlPlaneSize, givenMachines };
}

/** The names of objects among the references of nodes and pools. An annotation can contain any text. */
export function listReferencedNames({ nodes, pools }: Pick<ClusterSnapshot, 'nodes' | 'pools'>): ConfigName[] {
  return [...findUsedConfigs(listReferrers({ nodes, pools }))].filter(isObjectName);
}

/** Those of {@link listReferencedNames} that do not exist, not even until a finalizer is removed. */
export function listMissingNames(snapshot: ClusterSnapshot): ConfigName[] {
  const { configs, terminatingConfigs } = snapshot;
  return listReferencedNames(snapshot).filter((name) => !configs.has(name) && !terminatingConfigs.has(name));
}

/** Undefined if the pool does not exist, or is being deleted. */
export function findPool({ pools }: ClusterSnapshot, name: string | null | undefined): InspectedPool | undefined {
  return pools.find((pool) => pool.name === name);
}

export type StepAction =
  'PausePool' | 'CreateConfig' | 'SetPoolStatus' | 'AwaitMachines' | 'UnpausePool' | 'AwaitNodes';

export interface RestoreStep extends Step {
  readonly action: StepAction;
  readonly isNeeded: boolean;
}

/** Lists the steps that the deadlock of a config needs in this state, in their order. */
export function listSteps(state: RestoreState, config: RenderedConfig, pool: InspectedPool | undefined): RestoreStep[] {
  const { name } = config;
  const isMissing = !state.configs.has(name);
  const owner = pool === undefined ? 'without an owner' : `owned by pool ${pool.name}`;
  const createStep: RestoreStep = {
    action: 'CreateConfig',
    description: `create ${name}, ${owner}`,
    isNeeded: isMissing,
    // Strict, because the API server drops unknown fields otherwise, and the content would change.
    write: { method: 'POST', path: `${MACHINE_CONFIGS_PATH}?fieldValidation=Strict`, body: buildConfig(config, pool) },
    wait: state.terminatingConfigs.has(name) ? { reason: `until the finalizers of ${name} are removed` } : undefined,
  };
  const nodesStep = createNodesStep(name, state);
  if (pool === undefined) return [createStep, nodesStep].filter(({ isNeeded }) => isNeeded);

  const { name: poolName, specConfig, statusConfig: status } = pool;
  // Without their wanted number, no machine counts as missing.
  const missingCount = countMissingMachines(state.controlPlaneSize, state).get(poolName) ?? 0;
  // The machine-config-server serves the pool's spec once a machine is updated, and else its status
  // (machine-config-operator, pkg/server/cluster_server.go).
  const isUnserved =
    pool.updatedMachineCount === 0 && (status === undefined || (status !== name && !state.configs.has(status)));
  const isPauseNeeded = isMissing && !pool.paused && (status === undefined || isUnserved || missingCount > 0);
  // The operator sets the status itself once the machines run the config in the spec.
  const isStatusNeeded = isUnserved && specConfig !== name && nodesStep.isNeeded;
  const poolPath = objectPath(POOLS_PATH, poolName);
  const toPatch = (path: string, body: Write['body']): Write => {
    return { method: 'PATCH', path, body, resourceVersion: pool.resourceVersion };
  };
  const steps: RestoreStep[] = [
    {
      action: 'PausePool',
      description: `pause pool ${poolName}`,
      isNeeded: isPauseNeeded,
      write: toPatch(poolPath, toPausePatch(name, state.givenMachines)),
    },
    createStep,
    {
      action: 'SetPoolStatus',
      description: `set status.configuration.name of pool ${poolName} to ${name}, so that new machines get it`,
      isNeeded: isStatusNeeded,
      write: toPatch(`${poolPath}/status`, { status: { configuration: { name } } }),
    },
    {
      action: 'AwaitMachines',
      description: `wait for ${countNoun(missingCount, 'more machine')} of pool ${poolName}`,
      isNeeded: missingCount > 0,
      wait: describeMissingMachines(state, missingCount, poolName),
    },
    {
      action: 'UnpausePool',
      description: `unpause pool ${poolName}`,
      isNeeded: isPauseNeeded || pool.pausedFor === name,
      write: toPatch(poolPath, toUnpausePatch()),
    },
    nodesStep,
  ];
  return steps.filter(({ isNeeded }) => isNeeded);
}

function describeMissingMachines({ pendingRequests }: RestoreState, count: number, poolName: string): Wait {
  const reason = `for ${countNoun(count, 'machine')} to join pool ${poolName}`;
  if (pendingRequests.length === 0) return { reason };
  const nodes = [...new Set(pendingRequests.map(({ node }) => node ?? 'an unknown node'))];
  const names = pendingRequests.map((request) => request.name);
  return {
    reason: `${reason}; certificate requests of ${joinFirst(nodes)} are pending`,
    advice: advise('check their requestors, then approve these', shell`oc adm certificate approve ${names}`),
  };
}

function createNodesStep(name: ConfigName, state: RestoreState): RestoreStep {
  const nodes = state.nodes.filter((each) => hasStrongReference(name, each));
  return {
    action: 'AwaitNodes',
    description: 'wait until no node that names it is Degraded',
    isNeeded: nodes.length > 0,
    wait: describeFailedNodes(name, nodes, state),
  };
}

function describeFailedNodes(name: ConfigName, nodes: readonly InspectedNode[], state: RestoreState): Wait | undefined {
  const failed = nodes.filter(hasFailed);
  const example = failed.find(({ reason }) => reason !== '') ?? failed[0];
  if (example === undefined) return undefined;
  const names = failed.map((node) => node.name);
  const quotation = example.reason === '' ? '' : ` ("${quote(example.reason)}")`;
  const reason = `for ${joinFirst(names)} to leave ${example.daemonState}${quotation}`;
  const missing = listMissingNames({ ...state, nodes: failed, pools: [] }).find((config) => config !== name);
  if (missing === undefined) return { reason };
  const advice = advise('another config is missing, too', shell`machineconfig-guard check`);
  return { reason: `${reason}; ${missing} is missing, too`, advice };
}

/** The annotations of a rendered config that the operator and `oc adm prune` read. */
const KEPT_ANNOTATIONS = ['generated-by-controller-version', 'release-image-version', 'os-image-url-overridden'].map(
  (key) => `${MCO_GROUP}/${key}`,
);

/**
 * Builds the object as the operator does, from its content and the live pool: without labels, because a pool could
 * select it, and never with the owner in the file, because the garbage collector deletes objects of an unknown owner.
 */
function buildConfig({ name, apiVersion, annotations, spec }: RenderedConfig, pool?: InspectedPool): Write['body'] {
  const owner = pool && {
    apiVersion: `${MCO_GROUP}/v1`,
    kind: 'MachineConfigPool',
    name: pool.name,
    uid: pool.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
  const kept = KEPT_ANNOTATIONS.filter((key) => annotations[key] !== undefined);
  const metadata = {
    name,
    annotations: Object.fromEntries(kept.map((key) => [key, annotations[key]])),
    ...(owner && { ownerReferences: [owner] }),
  };
  return { apiVersion, kind: 'MachineConfig', metadata, spec };
}

import { NODES_PATH } from '../kube/api-paths.ts';
import { BUILDS_PATHS, MACHINE_CONFIGS_PATH, POOLS_PATH } from './api-paths.ts';
import { parseConfigMetadata, type WatchedConfig } from './machine-config.ts';
import { parseBuildReferrer, parseNodeReferrer, parsePoolReferrer } from './parse-referrer.ts';
import type { BuildReferrer, NodeReferrer, PoolReferrer, Referrer } from './referrer.ts';
import type { Resource } from '../kube/resource.ts';

/** A node's references are annotations, so its metadata suffices. */
export const NODES: Resource<NodeReferrer> = {
  kind: 'Node',
  name: 'nodes',
  paths: [NODES_PATH],
  isMetadataOnly: true,
  isAlwaysServed: true,
  isProtobuf: true,
  parse: parseNodeReferrer,
};

/** Early in an installation the CRD is missing. */
export const POOLS: Resource<PoolReferrer> = {
  kind: 'MachineConfigPool',
  name: 'machineconfigpools',
  paths: [POOLS_PATH],
  parse: parsePoolReferrer,
};

/** OpenShift before 4.16 has no image builds. */
export const BUILDS: Resource<BuildReferrer> = {
  kind: 'MachineOSBuild',
  name: 'machineosbuilds',
  paths: BUILDS_PATHS,
  parse: parseBuildReferrer,
};

export const REFERRER_RESOURCES: readonly Resource<Referrer>[] = [NODES, POOLS, BUILDS];

/** Includes source configs, because an annotation can name any. The guard never reads the content. */
export const MACHINE_CONFIGS: Resource<WatchedConfig> = {
  kind: 'MachineConfig',
  name: 'machineconfigs',
  paths: [MACHINE_CONFIGS_PATH],
  isMetadataOnly: true,
  parse: parseConfigMetadata,
};

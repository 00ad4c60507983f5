import type { BuildReferrer, NodeReferrer, PoolReferrer, Referrer, ReferrerKind } from '../decision/references.ts';
import type { HoldableConfig } from '../decision/verdict.ts';
import { ALLOW_DELETION_ANNOTATION, findOverrideReason } from '../decision/settings.ts';
import { type ApiObject, MalformedObject } from '../kube/api-object.ts';
import { BUILDS_PATHS, MACHINE_CONFIGS_PATH, NODES_PATH, POOLS_PATH } from '../kube/api-paths.ts';
import { parseHoldableConfig } from '../kube/api-object.ts';
import type { Resource } from '../kube/resource.ts';
import { NODE_ANNOTATIONS, parseBuildReferrer, parseNodeReferrer, parsePoolReferrer } from './parse-referrer.ts';

/** A node's references are annotations, so its metadata suffices. */
export const NODES: Resource<NodeReferrer> = {
  kind: 'Node',
  name: 'nodes',
  paths: [NODES_PATH],
  isOptional: false,
  isMetadataOnly: true,
  annotations: NODE_ANNOTATIONS,
  parse: parseNodeReferrer,
};

/** Early in an installation the CRD is missing. */
export const POOLS: Resource<PoolReferrer> = {
  kind: 'MachineConfigPool',
  name: 'machineconfigpools',
  paths: [POOLS_PATH],
  isOptional: true,
  isMetadataOnly: false,
  parse: parsePoolReferrer,
};

/** OpenShift before 4.16 has no image builds. */
export const BUILDS: Resource<BuildReferrer> = {
  kind: 'MachineOSBuild',
  name: 'machineosbuilds',
  paths: BUILDS_PATHS,
  isOptional: true,
  isMetadataOnly: false,
  parse: parseBuildReferrer,
};

export const RESOURCE_BY_KIND: Readonly<Record<ReferrerKind, Resource<Referrer>>> = {
  Node: NODES,
  MachineConfigPool: POOLS,
  MachineOSBuild: BUILDS,
};

export const REFERRER_RESOURCES: readonly Resource<Referrer>[] = Object.values(RESOURCE_BY_KIND);

/** The part of a MachineConfig that the guard keeps. */
export interface WatchedConfig extends HoldableConfig {
  readonly uid: string;
  readonly createdAt: Date;
  /** Whether it has a deletionTimestamp and waits for its finalizers. */
  readonly isTerminating: boolean;
  /** Whether its annotation allows the deletion. */
  readonly isOverridden: boolean;
}

/** Includes source configs, because an annotation can name any. The guard never reads the content. */
export const MACHINE_CONFIGS: Resource<WatchedConfig> = {
  kind: 'MachineConfig',
  name: 'machineconfigs',
  paths: [MACHINE_CONFIGS_PATH],
  isOptional: true,
  isMetadataOnly: true,
  parse: parseConfigMetadata,
};

function parseConfigMetadata({ metadata }: ApiObject): WatchedConfig {
  const { name, uid, deletionTimestamp, annotations } = metadata ?? {};
  const config = parseHoldableConfig(metadata ?? {});
  const { createdAt } = config;
  if (typeof name !== 'string' || name === '' || createdAt === undefined) {
    throw new MalformedObject('a MachineConfig has no name or no creationTimestamp');
  }
  const isTerminating = deletionTimestamp !== undefined && deletionTimestamp !== null;
  const isOverridden = findOverrideReason(annotations?.[ALLOW_DELETION_ANNOTATION]) !== undefined;
  return { ...config, createdAt, uid: String(uid), isTerminating, isOverridden };
}

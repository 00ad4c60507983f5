import { rememberingUses } from './remembering-uses.ts';
import type { Resource } from '../kube/resource.ts';
import {
  parseBuildReferrer,
  NODE_REFERENCE_ANNOTATIONS,
  parseNodeReferrer,
  parsePoolReferrer,
} from './parse-referrer.ts';

const MCO_API = '/apis/machineconfiguration.openshift.io';

/** Nodes: the annotations are all that matters, and a whole node is several times as large as its metadata. */
export const NODES: Resource = {
  kind: 'Node',
  name: 'nodes',
  paths: ['/api/v1/nodes'],
  isOptional: false,
  isMetadataOnly: true,
  annotations: NODE_REFERENCE_ANNOTATIONS,
  parse: rememberingUses(parseNodeReferrer),
};

/** Pools: absent until the operator's definitions are installed, which early in an install they are not. */
export const POOLS: Resource = {
  kind: 'MachineConfigPool',
  name: 'machineconfigpools',
  paths: [`${MCO_API}/v1/machineconfigpools`],
  isOptional: true,
  isMetadataOnly: false,
  parse: parsePoolReferrer,
};

/** Image builds: v1 from OpenShift 4.18 on, v1alpha1 as a preview in 4.16 and 4.17, none before. */
export const BUILDS: Resource = {
  kind: 'MachineOSBuild',
  name: 'machineosbuilds',
  paths: [`${MCO_API}/v1/machineosbuilds`, `${MCO_API}/v1alpha1/machineosbuilds`],
  isOptional: true,
  isMetadataOnly: false,
  parse: parseBuildReferrer,
};

/** Everything that can name a rendered config. */
export const REFERRER_RESOURCES: readonly Resource[] = [NODES, POOLS, BUILDS];

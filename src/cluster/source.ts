import { rememberingUses } from './remembering-uses.ts';
import {
  type ApiObject,
  buildReferrer,
  NODE_ANNOTATIONS,
  nodeReferrer,
  poolReferrer,
  type Referrer,
  type ReferrerKind,
} from '../policy/referrer.ts';

/** A kind of object, what is kept of it, and how the API serves it. By default one that references are read from. */
export interface Source<Kept extends { readonly name: string } = Referrer> {
  readonly kind: ReferrerKind | 'MachineConfig';
  /** The resource's name, for people and for the audit log. */
  readonly resource: string;
  /** Collections that may hold the objects, the preferred API version first. A 404 leads on to the next. */
  readonly collections: readonly string[];
  /** May a cluster do without this kind? Then 404 everywhere means "no such references". */
  readonly optional: boolean;
  readonly metadataOnly: boolean;
  /** All annotations that `read` looks at, where it looks at nothing else but the name: what a list can leave unread. */
  readonly annotations?: readonly string[];
  readonly read: (object: ApiObject) => Kept;
}

const MCO_API = '/apis/machineconfiguration.openshift.io';

/** Nodes: the annotations are all that matters, and a whole node is several times as large as its metadata. */
export const NODES: Source = {
  kind: 'Node',
  resource: 'nodes',
  collections: ['/api/v1/nodes'],
  optional: false,
  metadataOnly: true,
  annotations: NODE_ANNOTATIONS,
  read: rememberingUses(nodeReferrer),
};

/** Pools: absent until the operator's definitions are installed, which early in an install they are not. */
export const POOLS: Source = {
  kind: 'MachineConfigPool',
  resource: 'machineconfigpools',
  collections: [`${MCO_API}/v1/machineconfigpools`],
  optional: true,
  metadataOnly: false,
  read: poolReferrer,
};

/** Image builds: v1 from OpenShift 4.18 on, v1alpha1 as a preview in 4.16 and 4.17, none before. */
export const BUILDS: Source = {
  kind: 'MachineOSBuild',
  resource: 'machineosbuilds',
  collections: [`${MCO_API}/v1/machineosbuilds`, `${MCO_API}/v1alpha1/machineosbuilds`],
  optional: true,
  metadataOnly: false,
  read: buildReferrer,
};

/** Everything that can name a rendered config. */
export const SOURCES: readonly Source[] = [NODES, POOLS, BUILDS];

const METADATA_LIST = 'as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
/** Media type of protobuf (k8s.io/apimachinery, pkg/runtime/types.go). */
export const PROTOBUF = 'application/vnd.kubernetes.protobuf';

/** Asks for a list in the form that the source needs; a server that cannot cut it down may send whole objects. */
export function acceptList(metadataOnly: boolean): string {
  return metadataOnly ? `application/json;${METADATA_LIST},application/json` : 'application/json';
}

/** The same for a list that is read as it streams, with protobuf first: half the work for the API server. */
export function acceptStreamedList(metadataOnly: boolean): string {
  return metadataOnly ? `${PROTOBUF};${METADATA_LIST},${acceptList(true)}` : acceptList(false);
}

/** The JSON form for single objects and for the objects in watch events. */
export function acceptObject(metadataOnly: boolean): string {
  return metadataOnly
    ? 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json'
    : 'application/json';
}

import { randomBytes } from 'node:crypto';

import type { KubeObject } from '../control-plane/kube-client.ts';

const MCO = 'machineconfiguration.openshift.io';

/** A new name as the operator builds it (machine-config-operator, pkg/controller/render/hash.go). */
export function renderedName(pool = 'worker') {
  return `rendered-${pool}-${randomBytes(16).toString('hex')}`;
}

export interface RenderedConfigOptions {
  readonly name: string;
  /** The pool that owns the config. */
  readonly owner?: KubeObject;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly spec?: object;
  /** The size of one file, for a large config. */
  readonly bytes?: number;
}

/** A rendered MachineConfig with real metadata (machine-config-operator, pkg/controller/render). */
export function machineConfig({ name, owner, annotations, labels, spec, bytes }: RenderedConfigOptions): KubeObject {
  const content = bytes === undefined ? 'kind%3A%20KubeletConfiguration%0A' : randomBytes(bytes / 2).toString('hex');
  return {
    apiVersion: `${MCO}/v1`,
    kind: 'MachineConfig',
    metadata: {
      name,
      annotations: {
        [`${MCO}/generated-by-controller-version`]: '33286190af0d4d340af5c61e603d185780e74b39',
        [`${MCO}/release-image-version`]: '4.20.0',
        ...annotations,
      },
      ...(labels && { labels }),
      ownerReferences: owner && [{ ...toReference(owner), controller: true, blockOwnerDeletion: true }],
    },
    spec: spec ?? {
      config: {
        ignition: { version: '3.4.0' },
        storage: {
          files: [{ path: '/etc/kubernetes/kubelet.conf', mode: 420, contents: { source: `data:,${content}` } }],
        },
      },
      fips: false,
      kernelType: 'default',
      osImageURL: `quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:${'ac2ad5b01eed7b02'.repeat(4)}`,
    },
  };
}

interface NodeConfigs {
  readonly currentConfig?: string;
  readonly desiredConfig?: string;
}

export interface NodeOptions extends NodeConfigs {
  readonly name: string;
  readonly role?: string;
}

/** A worker with annotations of a real one (OVN-Kubernetes, bare metal, OpenShift 4.19). */
export function node({ name, role = 'worker', ...configs }: NodeOptions): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: {
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        [`node-role.kubernetes.io/${role}`]: '',
      },
      annotations: {
        'k8s.ovn.org/node-subnets': '{"default":["10.131.0.0/23"]}',
        [`${MCO}/controlPlaneTopology`]: 'HighlyAvailable',
        ...operatorAnnotations(configs),
        [`${MCO}/reason`]: '',
        [`${MCO}/state`]: 'Done',
        'volumes.kubernetes.io/controller-managed-attach-detach': 'true',
      },
    },
    spec: {},
  };
}

/** The merge patch of a node by which the operator assigns a config, or the daemon reports its state. */
export function nodePatch(values: object): object {
  return { metadata: { annotations: operatorAnnotations(values) } };
}

function operatorAnnotations(values: object): Readonly<Record<string, string>> {
  const entries = Object.entries(values) as [string, string][];
  return Object.fromEntries(entries.map(([field, value]) => [`${MCO}/${field}`, value]));
}

/** The annotations of a node, those of the operator without their prefix. */
export function readAnnotations({ metadata }: Pick<KubeObject, 'metadata'>): Readonly<Record<string, string>> {
  const entries = Object.entries(metadata.annotations ?? {});
  return Object.fromEntries(entries.map(([key, value]) => [key.replace(`${MCO}/`, ''), value]));
}

export interface PoolOptions {
  readonly name: string;
  /** The config that the pool rolls out. */
  readonly spec?: string;
  readonly finalizers?: readonly string[];
  /** Whose sources the pool gets. */
  readonly roles?: readonly string[];
}

/** A custom pool as an administrator creates it. */
export function pool({ name, spec, finalizers, roles = ['worker', name] }: PoolOptions): KubeObject {
  return {
    apiVersion: `${MCO}/v1`,
    kind: 'MachineConfigPool',
    metadata: { name, finalizers },
    spec: {
      configuration: spec && { name: spec },
      machineConfigSelector: {
        matchExpressions: [{ key: `${MCO}/role`, operator: 'In', values: roles }],
      },
      nodeSelector: { matchLabels: { [`node-role.kubernetes.io/${name}`]: '' } },
      paused: false,
    },
  };
}

/** A MachineOSBuild of a config. */
export function build({ name, config }: { readonly name: string; readonly config: string }): KubeObject {
  return {
    apiVersion: `${MCO}/v1`,
    kind: 'MachineOSBuild',
    metadata: { name },
    spec: {
      machineConfig: { name: config },
      machineOSConfig: { name: 'worker' },
      renderedImagePushSpec: 'quay.io/mco/renderedimage:latest',
    },
  };
}

/** A merge patch of a build's status with one true condition. */
export function buildStatus(condition: 'Building' | 'Succeeded' | 'Failed' | 'Interrupted'): object {
  const conditions = ['Prepared', 'Building', 'Failed', 'Interrupted', 'Succeeded'].map((type) => ({
    type,
    status: type === condition ? 'True' : 'False',
    reason: type === condition ? condition : `Not${type}`,
    message: '',
    lastTransitionTime: new Date().toISOString(),
  }));
  return { status: { conditions } };
}

function toReference({ apiVersion, kind, metadata: { name, uid } }: KubeObject) {
  return { apiVersion, kind, name, uid };
}

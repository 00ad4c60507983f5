import { createHash } from 'node:crypto';

import { expectStatus, type KubeClient, type KubeObject } from '../e2e/control-plane/kube-client.ts';
import { PATHS } from '../e2e/support/paths.ts';

const MCO = 'machineconfiguration.openshift.io';
const OVN = 'k8s.ovn.org';
const ART = 'quay.io/openshift-release-dev/ocp-v4.0-art-dev';
/** A kubelet reports at most so many (kubernetes, pkg/kubelet/apis/config/v1beta1/defaults.go), and a node in use for a while has them. */
const IMAGES = 50;
/** Writers at the same time: more gain nothing on an API server with two cores. */
const WRITERS = 8;

/** The configs that a node runs and is to run. */
export interface NodeConfigs {
  readonly currentConfig: string;
  readonly desiredConfig: string;
}

/** What distinguishes the nodes of one cluster from those of another. */
export interface FleetOptions {
  /** Index of the first one, and of the one after the last: a fleet can grow. */
  readonly from?: number;
  readonly to: number;
  readonly configsOf: (index: number) => NodeConfigs;
}

/** One write, by whom, as it happens on a real node: each leaves its own entry in `managedFields`. */
interface Write {
  readonly method: 'POST' | 'PATCH';
  readonly subresource?: '/status';
  readonly manager: string;
  readonly body: object;
}

/** Name of the node of that index. */
export function nodeName(index: number): string {
  return `worker-${String(index).padStart(5, '0')}.cluster.example.com`;
}

/**
 * Nodes as the API server of an OpenShift cluster keeps them (bare metal, OVN-Kubernetes, 4.19): made by the same writers in the
 * same order, so that labels, annotations, conditions, images and managedFields have the sizes of the real ones. What is measured of
 * them is part of every report (see `nodeSizes`).
 */
export async function createFleet(admin: KubeClient, { from = 0, to, configsOf }: FleetOptions): Promise<void> {
  // Shared by all writers: each takes the next one.
  const indexes = Array.from({ length: to - from }, (_, offset) => from + offset).values();
  const writer = async () => {
    for (const index of indexes) await createNode(admin, index, configsOf(index));
  };
  await Promise.all(Array.from({ length: WRITERS }, writer));
}

async function createNode(admin: KubeClient, index: number, configs: NodeConfigs): Promise<void> {
  const path = `${PATHS.nodes}/${nodeName(index)}`;
  for (const { method, subresource = '', manager, body } of writesOf(index, configs)) {
    const target = method === 'POST' ? PATHS.nodes : `${path}${subresource}`;
    const contentType = method === 'POST' ? 'application/json' : 'application/strategic-merge-patch+json';
    const response = await admin.request(method, target, body, { query: { fieldManager: manager }, contentType });
    expectStatus(response, [200, 201], `${method} ${target}`);
  }
}

/** Bytes of JSON a node, as the API server answers: all of it, and the metadata alone. */
export async function nodeSizes(admin: KubeClient): Promise<{ readonly full: number; readonly metadata: number }> {
  const [node] = await admin.list(PATHS.nodes, { limit: '1' });
  if (node === undefined) throw new Error('There is no node whose size could be told.');
  return { full: JSON.stringify(node).length, metadata: JSON.stringify(node.metadata).length };
}

function writesOf(index: number, configs: NodeConfigs): readonly Write[] {
  const name = nodeName(index);
  const address = `10.${64 + (index >> 14)}.${(index >> 6) & 255}.${2 + (index & 63)}`;
  return [
    { method: 'POST', manager: 'kubelet', body: registered(name, address) },
    annotate('kube-controller-manager', { 'node.alpha.kubernetes.io/ttl': '300' }),
    annotate('network-node-identity', networkAnnotations(index, name, address)),
    annotate('machine-config-daemon', daemonAnnotations(configs)),
    annotate('machine-config-controller', { [`${MCO}/lastAppliedDrain`]: `uncordon-${configs.desiredConfig}` }),
    { method: 'PATCH', subresource: '/status', manager: 'kubelet', body: { status: kubeletStatus(name, address) } },
  ];
}

function annotate(manager: string, annotations: Readonly<Record<string, string>>): Write {
  return { method: 'PATCH', manager, body: { metadata: { annotations } } };
}

function registered(name: string, address: string): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: {
        'beta.kubernetes.io/arch': 'amd64',
        'beta.kubernetes.io/os': 'linux',
        'kubernetes.io/arch': 'amd64',
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        'node-role.kubernetes.io/worker': '',
        'node.openshift.io/os_id': 'rhel',
      },
      annotations: {
        'alpha.kubernetes.io/provided-node-ip': address,
        'volumes.kubernetes.io/controller-managed-attach-detach': 'true',
      },
    },
    spec: { providerID: `baremetalhost:///openshift-machine-api/${name}/${uuid(`host ${name}`)}` },
  };
}

function networkAnnotations(index: number, name: string, address: string): Readonly<Record<string, string>> {
  const id = index + 2;
  const gateway = {
    mode: 'shared',
    'bridge-id': 'br-ex',
    'interface-id': `br-ex_${name}`,
    'mac-address': `02:92:26:${[index >> 16, index >> 8, index].map((part) => hexByte(part)).join(':')}`,
    'ip-addresses': [`${address}/16`],
    'ip-address': `${address}/16`,
    'next-hops': ['10.64.0.1'],
    'next-hop': '10.64.0.1',
    'node-port-enable': 'true',
    'vlan-id': '0',
  };
  return {
    [`${OVN}/host-cidrs`]: `["${address}/16"]`,
    [`${OVN}/l3-gateway-config`]: JSON.stringify({ default: gateway }),
    [`${OVN}/node-chassis-id`]: uuid(`chassis ${name}`),
    [`${OVN}/node-encap-ips`]: `["${address}"]`,
    [`${OVN}/node-gateway-router-lrp-ifaddrs`]: `{"default":{"ipv4":"100.64.${id >> 8}.${id & 255}/16"}}`,
    [`${OVN}/node-id`]: String(id),
    [`${OVN}/node-masquerade-subnet`]: '{"ipv4":"169.254.0.0/17","ipv6":"fd69::/112"}',
    [`${OVN}/node-primary-ifaddr`]: `{"ipv4":"${address}/16"}`,
    [`${OVN}/node-subnets`]: `{"default":["10.${128 + (id >> 7)}.${(id & 127) * 2}.0/23"]}`,
    [`${OVN}/node-transit-switch-port-ifaddr`]: `{"ipv4":"100.88.${id >> 8}.${id & 255}/16"}`,
    [`${OVN}/remote-zone-migrated`]: name,
    [`${OVN}/zone-name`]: name,
  };
}

function daemonAnnotations({ currentConfig, desiredConfig }: NodeConfigs): Readonly<Record<string, string>> {
  return {
    [`${MCO}/controlPlaneTopology`]: 'HighlyAvailable',
    [`${MCO}/currentConfig`]: currentConfig,
    [`${MCO}/desiredConfig`]: desiredConfig,
    [`${MCO}/desiredDrain`]: `uncordon-${desiredConfig}`,
    [`${MCO}/lastObservedServerCAAnnotation`]: 'false',
    [`${MCO}/lastSyncedControllerConfigResourceVersion`]: '596195',
    [`${MCO}/reason`]: '',
    [`${MCO}/state`]: 'Done',
  };
}

function kubeletStatus(name: string, address: string): object {
  return {
    addresses: [
      { type: 'InternalIP', address },
      { type: 'Hostname', address: name },
    ],
    allocatable: amounts('63500m', '262514472Ki'),
    capacity: amounts('64', '263665448Ki'),
    conditions: [
      ['MemoryPressure', 'False', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'],
      ['DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'],
      ['PIDPressure', 'False', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
      ['Ready', 'True', 'KubeletReady', 'kubelet is posting ready status'],
    ].map(([type, status, reason, message]) => ({
      type,
      status,
      reason,
      message,
      lastHeartbeatTime: '2025-05-27T16:12:00Z',
      lastTransitionTime: '2025-05-27T15:54:10Z',
    })),
    daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
    images: Array.from({ length: IMAGES }, (_, image) => ({
      // Payload images are known by their digest, others by a tag besides.
      names: [
        `${ART}@sha256:${hex(`image ${image}`, 64)}`,
        ...(image % 2 === 0
          ? [
              `registry.redhat.io/openshift4/operator-${image}-rhel9:v4.19.0-202505210330.p0.g1c3b2a4.assembly.stream.el9`,
            ]
          : []),
      ],
      sizeBytes: 400_000_000 + image * 7_654_321,
    })),
    nodeInfo: {
      architecture: 'amd64',
      bootID: uuid(`boot ${name}`),
      containerRuntimeVersion: 'cri-o://1.32.4-2.rhaos4.19.git7b1c1f6.el9',
      kernelVersion: '5.14.0-570.17.1.el9_6.x86_64',
      kubeProxyVersion: '',
      kubeletVersion: 'v1.32.4',
      machineID: hex(`machine ${name}`, 32),
      operatingSystem: 'linux',
      osImage: 'Red Hat Enterprise Linux CoreOS 9.6.20250523-0 (Plow)',
      systemUUID: uuid(`system ${name}`),
    },
  };
}

function amounts(cpu: string, memory: string): object {
  const pages = { 'hugepages-1Gi': '0', 'hugepages-2Mi': '0' };
  return { cpu, 'ephemeral-storage': '936104940Ki', ...pages, memory, pods: '250' };
}

/** Digits that look random and are the same in every run. */
function hex(seed: string, digits: number): string {
  return createHash('sha256').update(seed).digest('hex').slice(0, digits);
}

function uuid(seed: string): string {
  const digits = hex(seed, 32);
  return [digits.slice(0, 8), digits.slice(8, 12), digits.slice(12, 16), digits.slice(16, 20), digits.slice(20)].join(
    '-',
  );
}

function hexByte(value: number): string {
  return (value & 255).toString(16).padStart(2, '0');
}

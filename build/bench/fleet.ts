import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import PQueue from 'p-queue';
import { parseAllDocuments } from 'yaml';
import { expectStatus, type KubeClient } from '../../test/e2e/control-plane/kube-client.ts';
import { PATHS } from '../../test/e2e/support/objects.ts';

/** The images that a kubelet reports at most (kubernetes, pkg/kubelet/apis/config/v1beta1/defaults.go). */
const IMAGES = Array.from({ length: 50 }, (_, index) => {
  const payload = `quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:${toHex(`image ${index}`, 64)}`;
  const tag = 'v4.19.0-202505210330.p0.g1c3b2a4.assembly.stream.el9';
  const operator = `registry.redhat.io/openshift4/operator-${index}-rhel9:${tag}`;
  return { names: index % 2 === 0 ? [payload, operator] : [payload], sizeBytes: 400_000_000 + index };
});
/** More gain nothing on an API server with two cores. */
const MAX_PARALLEL_WRITES = 8;

interface Write {
  readonly manager: string;
  readonly subresource?: string;
  readonly body: { readonly status?: object };
}

/** The writes of node.yaml as JSON. */
const WRITES = parseAllDocuments(readFileSync(new URL('node.yaml', import.meta.url), 'utf8')).map((document) => {
  const write = document.toJS() as Write;
  const { status } = write.body;
  return JSON.stringify(status === undefined ? write : { ...write, body: { status: { ...status, images: IMAGES } } });
});

export const NODE_SIZE = 'A node has 18.4 kB of JSON, 6.1 kB of it metadata.';

/** The name of the node with this index. */
export function nodeName(index: number): string {
  return `worker-${String(index).padStart(5, '0')}.cluster.example.com`;
}

/**
 * Creates nodes of real size, from one index to another, as of one pool: all run this config.
 */
export async function createNodes(admin: KubeClient, first: number, end: number, config: string): Promise<void> {
  const queue = new PQueue({ concurrency: MAX_PARALLEL_WRITES });
  const indexes = Array.from({ length: end - first }, (_, offset) => first + offset);
  await queue.addAll(indexes.map((index) => () => createNode(admin, index, config)));
}

async function createNode(admin: KubeClient, index: number, config: string): Promise<void> {
  for (const [position, { manager, subresource = '', body }] of createWrites(index, config).entries()) {
    const [method, path] = position === 0 ? ['POST', PATHS.nodes] : ['PATCH', `${PATHS.nodes}/${nodeName(index)}`];
    const contentType = method === 'POST' ? 'application/json' : 'application/strategic-merge-patch+json';
    const extras = { query: { fieldManager: manager }, contentType };
    expectStatus(await admin.request(method, `${path}${subresource}`, body, extras), [200, 201], `${method} ${path}`);
  }
}

function createWrites(index: number, config: string): readonly Write[] {
  const name = nodeName(index);
  const id = index + 2;
  const lowId = `${id >> 8}.${id & 255}`;
  const values: Readonly<Record<string, string | undefined>> = {
    name,
    address: `10.64.${lowId}`,
    currentConfig: config,
    desiredConfig: config,
    id: String(id),
    lowId,
    subnet: `${128 + (id >> 7)}.${(id & 127) * 2}`,
    mac: (toHex(name, 12).match(/../g) ?? []).join(':'),
    uuid: toHex(name, 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
    machineId: toHex(name, 32),
  };
  return WRITES.map(
    (write) => JSON.parse(write.replaceAll(/\$\{(\w+)\}/g, (_, key: string) => values[key] ?? '')) as Write,
  );
}

/** Digits that look random and are the same in every run. */
function toHex(seed: string, digits: number): string {
  return createHash('sha256').update(seed).digest('hex').slice(0, digits);
}

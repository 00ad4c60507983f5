import forge from 'node-forge';

import type { KubeClient, KubeObject } from '../control-plane/kube-client.ts';
import { machineConfig, node, pool } from '../support/objects.ts';
import { PATHS } from '../support/paths.ts';

const MCO = 'machineconfiguration.openshift.io';
const REQUESTS = '/apis/certificates.k8s.io/v1/certificatesigningrequests';

/** The names of the agent-based install that ended at 93 % (OpenShift 4.18.32). */
export const INCIDENT_B = {
  /** What the masters name: rendered by the bootstrap host, never in the API. */
  missing: 'rendered-master-553d5d527988f8cd22e7791f6013fe42',
  /** What the cluster has rendered itself. */
  master: 'rendered-master-9e786f4a442cb50f3dfeec92abb1675f',
  worker: 'rendered-worker-25a1be6c1264c64551ae911d23717173',
  masters: ['control1.gw.lo', 'control2.gw.lo'],
  workers: ['worker0.gw.lo', 'worker1.gw.lo', 'worker2.gw.lo'],
  /** The rendezvous host, which cannot join. */
  waiting: 'control0.gw.lo',
} as const;

/** Sets up the cluster as it stood when the install hung. Returns the name of control0's certificate request. */
export async function incidentB(admin: KubeClient): Promise<string> {
  const { missing, master, worker, masters, workers, waiting } = INCIDENT_B;
  for (const name of [master, worker]) await admin.create(PATHS.configs, machineConfig({ name }));
  for (const name of masters) {
    await createNode(admin, { name, role: 'master', config: missing });
    const reason = `missing MachineConfig ${missing}\nmachineconfig.machineconfiguration.openshift.io "${missing}" not found`;
    await annotate(admin, name, { state: 'Degraded', reason });
  }
  for (const name of workers) await createNode(admin, { name, role: 'worker', config: worker });
  await createPool(admin, { name: 'master', spec: master, machineCount: 2, updatedMachineCount: 0 });
  await createPool(admin, { name: 'worker', spec: worker, status: worker, machineCount: 3, updatedMachineCount: 3 });
  return requestCertificate(admin, waiting);
}

export interface NodeParts {
  readonly name: string;
  readonly role: string;
  /** Current and desired; a node that has not reported has none. */
  readonly config?: string | undefined;
}

export async function createNode(admin: KubeClient, { name, role, config }: NodeParts): Promise<void> {
  const configs = config === undefined ? {} : { currentConfig: config, desiredConfig: config };
  await admin.create(PATHS.nodes, node({ name, role, ...configs }));
}

/** Writes annotations of the machine-config-daemon's, without their prefix. */
export async function annotate(
  admin: KubeClient,
  name: string,
  values: Readonly<Record<string, string | null>>,
): Promise<void> {
  const annotations = Object.fromEntries(Object.entries(values).map(([key, value]) => [`${MCO}/${key}`, value]));
  await admin.patch(`${PATHS.nodes}/${name}`, { metadata: { annotations } });
}

export interface PoolParts {
  readonly name: string;
  readonly spec?: string;
  readonly status?: string;
  readonly machineCount?: number;
  readonly updatedMachineCount?: number;
}

export async function createPool(admin: KubeClient, parts: PoolParts): Promise<KubeObject> {
  const { name, spec, status, machineCount = 0, updatedMachineCount = 0 } = parts;
  const created = await admin.create(PATHS.pools, pool(spec === undefined ? { name } : { name, spec }));
  await admin.patch(`${PATHS.pools}/${name}/status`, {
    status: {
      ...(status === undefined ? {} : { configuration: { name: status } }),
      machineCount,
      updatedMachineCount,
      readyMachineCount: updatedMachineCount,
      unavailableMachineCount: machineCount - updatedMachineCount,
      degradedMachineCount: machineCount - updatedMachineCount,
    },
  });
  return created;
}

/** What a kubelet that joins sends: as a bootstrapper that all nodes share, so only the request itself names the node. */
async function requestCertificate(admin: KubeClient, nodeName: string): Promise<string> {
  const keys = forge.pki.rsa.generateKeyPair(2048);
  const request = forge.pki.createCertificationRequest();
  request.publicKey = keys.publicKey;
  request.setSubject([
    { shortName: 'O', value: 'system:nodes' },
    { shortName: 'CN', value: `system:node:${nodeName}` },
  ]);
  request.sign(keys.privateKey, forge.md.sha256.create());
  const name = 'csr-8vnps';
  await admin.create(REQUESTS, {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name },
    spec: {
      request: Buffer.from(forge.pki.certificationRequestToPem(request)).toString('base64'),
      signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
      usages: ['digital signature', 'client auth'],
    },
  });
  return name;
}

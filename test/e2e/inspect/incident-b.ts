import forge from 'node-forge';

import type { Cluster } from '../support/cluster.ts';

const REQUESTS = '/apis/certificates.k8s.io/v1/certificatesigningrequests';

/** The names of an agent-based install that stopped at 93 % (OpenShift 4.18.32). */
export const INCIDENT_B = {
  /** The config that the masters name. The bootstrap host rendered it, and it was never in the API. */
  missing: 'rendered-master-553d5d527988f8cd22e7791f6013fe42',
  /** The config that the cluster rendered. */
  master: 'rendered-master-9e786f4a442cb50f3dfeec92abb1675f',
  worker: 'rendered-worker-25a1be6c1264c64551ae911d23717173',
  masters: ['control1.gw.lo', 'control2.gw.lo'],
  workers: ['worker0.gw.lo', 'worker1.gw.lo', 'worker2.gw.lo'],
  /** The rendezvous host, which cannot join. */
  waiting: 'control0.gw.lo',
} as const;

/** Creates the objects of the cluster as they were when the install stopped. */
export async function createIncidentB(cluster: Cluster): Promise<void> {
  const { missing, master, worker, masters, workers, waiting } = INCIDENT_B;
  for (const name of [master, worker]) await cluster.config({ name });
  for (const name of masters) {
    await cluster.node({ name, role: 'master', currentConfig: missing, desiredConfig: missing });
    const notFound = `machineconfig.machineconfiguration.openshift.io "${missing}" not found`;
    await cluster.moveNode(name, { state: 'Degraded', reason: `missing MachineConfig ${missing}\n${notFound}` });
  }
  const configs = { currentConfig: worker, desiredConfig: worker };
  for (const name of workers) await cluster.node({ name, ...configs });
  await cluster.pool({ name: 'master', spec: master });
  await cluster.pool({ name: 'worker', spec: worker, status: worker });
  await requestCertificate(cluster, waiting);
}

/** Requests the only certificate, as a joining kubelet does. Only the request names the node, not the requestor. */
export async function requestCertificate({ admin }: Cluster, nodeName: string): Promise<void> {
  await admin.delete(REQUESTS);
  const keys = forge.pki.rsa.generateKeyPair(2048);
  const request = forge.pki.createCertificationRequest();
  request.publicKey = keys.publicKey;
  request.setSubject([
    { shortName: 'O', value: 'system:nodes' },
    { shortName: 'CN', value: `system:node:${nodeName}` },
  ]);
  request.sign(keys.privateKey, forge.md.sha256.create());
  await admin.create(REQUESTS, {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name: 'csr-8vnps' },
    spec: {
      request: Buffer.from(forge.pki.certificationRequestToPem(request)).toString('base64'),
      signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
      usages: ['digital signature', 'client auth'],
    },
  });
}

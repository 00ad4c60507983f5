import forge from 'node-forge';
import { beforeEach, expect, test } from 'vitest';
import { readPendingCertificateRequests } from '../../src/inspect/certificate-requests.ts';
import type { Fault } from '../support/faults.ts';
import { startTestCluster, type TestCluster } from '../support/test-cluster.ts';

const CLIENT = 'kubernetes.io/kube-apiserver-client-kubelet';
const SERVING = 'kubernetes.io/kubelet-serving';
const BOOTSTRAPPER = 'system:serviceaccount:openshift-machine-config-operator:node-bootstrapper';

/** base64 of PEM of a PKCS #10 request, as the API has it. */
function pkcs10(...subject: forge.pki.CertificateField[]): string {
  const keys = forge.pki.rsa.generateKeyPair(1024);
  const request = forge.pki.createCertificationRequest();
  request.publicKey = keys.publicKey;
  request.setSubject(subject);
  request.sign(keys.privateKey, forge.md.sha256.create());
  return Buffer.from(forge.pki.certificationRequestToPem(request)).toString('base64');
}

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string;
let cluster: TestCluster;

beforeEach(async () => {
  cluster = await startTestCluster();
});

function create(name: string, spec: object, status: object = {}): void {
  cluster.create('certificatesigningrequests', { metadata: { name }, spec, status });
}

async function read(signal = AbortSignal.timeout(20_000)): ReturnType<typeof readPendingCertificateRequests> {
  return await readPendingCertificateRequests(cluster.connect(), signal);
}

test('takes the node from the request of a joining node, and else from its user', async () => {
  const joining = pkcs10({ shortName: 'CN', value: 'system:node:control0.gw.lo' });
  create('csr-b', { signerName: SERVING, username: 'system:node:worker0', request: 'bm90aGluZw==' });
  create('csr-a', { signerName: CLIENT, username: BOOTSTRAPPER, request: joining });
  expect(await read()).toEqual({
    readable: true,
    reason: null,
    requests: [
      { name: 'csr-a', node: 'control0.gw.lo', signer: CLIENT, createdAt: TIME },
      { name: 'csr-b', node: 'worker0', signer: SERVING, createdAt: TIME },
    ],
  });
});

test.each([
  ['is approved', 'system:node:n', CLIENT, { conditions: [{ type: 'Approved', status: 'True' }] }],
  ['is issued', 'system:node:n', CLIENT, { certificate: 'LS0t' }],
  ['is not of a node', 'jane', 'kubernetes.io/kube-apiserver-client', {}],
])('ignores a request that %s', async (_title, username, signerName, status) => {
  create('csr-a', { signerName, username }, status);
  expect(await read()).toEqual({ readable: true, reason: null, requests: [] });
});

test.each([['bm90aGluZw=='], [undefined], [7], [pkcs10({ shortName: 'CN', value: 'jane' })]])(
  'reads a request without the name of a node: %s',
  async (request) => {
    create('csr-a', { signerName: CLIENT, username: BOOTSTRAPPER, request });
    expect(await read()).toMatchObject({ requests: [{ name: 'csr-a', node: null }] });
  },
);

test.each<[Fault, string]>([
  [{ status: 403 }, '403 Forbidden: you need "list" on certificatesigningrequests.certificates.k8s.io'],
  [{ status: 404 }, 'the API server answered 404'],
  ['hang', 'timed out'],
])('gives the reason if the answer to the list is %j', async (fault, reason) => {
  cluster.faults.intercept(() => fault);
  const signal = AbortSignal.timeout(fault === 'hang' ? 50 : 20_000);
  expect(await read(signal)).toEqual({ readable: false, reason, requests: [] });
});

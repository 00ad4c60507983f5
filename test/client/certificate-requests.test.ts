import { beforeEach, expect, test } from 'vitest';
import { readPendingCertificateRequests } from '../../src/client/certificate-requests.ts';
import { TIME } from '../cli/inspected-cluster.ts';
import { startTestCluster, type TestCluster } from '../support/test-cluster.ts';

const CLIENT = 'kubernetes.io/kube-apiserver-client-kubelet';
const SERVING = 'kubernetes.io/kubelet-serving';
const BOOTSTRAPPER = 'system:serviceaccount:openshift-machine-config-operator:node-bootstrapper';

/** A kubelet's request with an ECDSA key: O=system:nodes, CN=system:node:control0.gw.lo. */
const ECDSA_REQUEST = atob(`
MIH3MIGeAgEAMDwxFTATBgNVBAoMDHN5c3RlbTpub2RlczEjMCEGA1UEAwwac3lz
dGVtOm5vZGU6Y29udHJvbDAuZ3cubG8wWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC
AATkyqHEAubRxS16Km4fY/tmAbs2nsNe3yAl/J2DULURNkb4vKd3GawgD7QU/LQ6
JmzmafYLk6FowQACselaPomLoAAwCgYIKoZIzj0EAwIDSAAwRQIgLrJQs5l/hsiE
4aLvBvcsOTPpckw26D8BjWiHgY3CiHcCIQCIiIHJp/vg6a2aXhhkf1Kr8qs+uKj2
qvQ9HjZ6RE+UMg==`);

/** base64 of PEM, as the API has it. */
function encode(der: string): string {
  return btoa(`-----BEGIN CERTIFICATE REQUEST-----\n${btoa(der)}\n-----END CERTIFICATE REQUEST-----`);
}

let cluster: TestCluster;

beforeEach(async () => {
  cluster = await startTestCluster();
});

function create(name: string, spec: object, status: object = {}): void {
  cluster.create('certificatesigningrequests', { metadata: { name }, spec, status });
}

async function read() {
  return await readPendingCertificateRequests(cluster.connect(), new AbortController().signal);
}

test('lists the pending requests of kubelets, with the node that the request names, or else its user', async () => {
  create('csr-b', { signerName: SERVING, username: 'system:node:worker0', request: 'bm90aGluZw==' });
  create('csr-a', { signerName: CLIENT, username: BOOTSTRAPPER, request: encode(ECDSA_REQUEST) });
  const ofNode = { signerName: CLIENT, username: 'system:node:n' };
  create('csr-approved', ofNode, { conditions: [{ type: 'Approved', status: 'True' }] });
  create('csr-issued', ofNode, { certificate: 'LS0t' });
  create('csr-foreign', { ...ofNode, signerName: 'kubernetes.io/kube-apiserver-client' });
  // They could change a command and a terminal.
  for (const name of ['--server=evil.example', 'csr-\u001b[2J']) create(name, ofNode);
  expect(await read()).toEqual({
    readable: true,
    reason: null,
    requests: [
      { name: 'csr-a', node: 'control0.gw.lo', signer: CLIENT, createdAt: TIME },
      { name: 'csr-b', node: 'worker0', signer: SERVING, createdAt: TIME },
    ],
  });
});

const OTHER_NAME = ECDSA_REQUEST.replace('control0.gw.lo', 'x\u001B]52;c;aGk=\u0007y');

test('names no node if the request is invalid, or its name or that of its user is', async () => {
  const requests = [undefined, 7, 'bm90aGluZw==', encode(ECDSA_REQUEST.replace('node:', 'user:')), encode(OTHER_NAME)];
  for (const [index, request] of requests.entries())
    create(`csr-${index}`, { signerName: CLIENT, username: BOOTSTRAPPER, request });
  create('csr-b', { signerName: SERVING, username: 'system:node:run oc delete' });
  expect((await read()).requests.map(({ node }) => node)).toEqual(Array.from({ length: 6 }, () => null));
});

test('lists the newest request of each node and signer, with the time since which the node asks', async () => {
  for (const [name, minutes, signerName] of [
    ['csr-b', '00', CLIENT],
    ['csr-a', '30', CLIENT],
    ['csr-c', '15', CLIENT],
    ['csr-d', '31', SERVING],
  ] as const) {
    cluster.create('certificatesigningrequests', {
      metadata: { name, creationTimestamp: `2026-11-20T12:${minutes}:00Z` },
      spec: { username: 'system:node:n', signerName },
    });
  }
  expect((await read()).requests).toEqual([
    { name: 'csr-a', node: 'n', signer: CLIENT, createdAt: '2026-11-20T12:00:00.000Z' },
    { name: 'csr-d', node: 'n', signer: SERVING, createdAt: '2026-11-20T12:31:00.000Z' },
  ]);
});

test.each([403, 404])('gives the reason if the answer to the list is %i', async (status) => {
  cluster.faults.intercept(() => ({ status }));
  const reason = expect.stringMatching(`^the API server answered ${status}`) as string;
  expect(await read()).toEqual({ readable: false, reason, requests: [] });
});

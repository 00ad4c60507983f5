import { beforeEach, expect, test } from 'vitest';
import { readPendingCertificateRequests } from '../../src/client/certificate-requests.ts';
import { TIME } from '../cli/inspected-cluster.ts';
import type { Fault } from '../support/faults.ts';
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

async function read(signal = new AbortController().signal) {
  return await readPendingCertificateRequests(cluster.connect(), signal);
}

test('takes the node from the request of a joining node, and else from its user', async () => {
  create('csr-b', {
    signerName: SERVING,
    username: 'system:node:worker0',
    request: 'bm90aGluZw==',
  });
  create('csr-a', {
    signerName: CLIENT,
    username: BOOTSTRAPPER,
    request: encode(ECDSA_REQUEST),
  });
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

test.each(['--server=evil.example', 'csr-\u001b[2J', 'CSR'])(
  'ignores a request with the name %j, which could change a command',
  async (name) => {
    create(name, { signerName: CLIENT, username: 'system:node:n' });
    expect(await read()).toMatchObject({ readable: true, requests: [] });
  },
);

test('prints no text that cannot be the name of a node', async () => {
  const request = encode(ECDSA_REQUEST.replace('control0.gw.lo', 'x\u001B]52;c;aGk=\u0007y'));
  create('csr-a', { signerName: CLIENT, username: BOOTSTRAPPER, request });
  create('csr-b', { signerName: SERVING, username: 'system:node:run oc delete' });
  expect(await read()).toMatchObject({ requests: [{ node: null }, { node: null }] });
});

const USER_REQUEST = encode(ECDSA_REQUEST.replace('node:', 'user:'));

test.each([undefined, 7, 'bm90aGluZw==', USER_REQUEST])(
  'reads a request without the name of a node: %s',
  async (request) => {
    create('csr-a', { signerName: CLIENT, username: BOOTSTRAPPER, request });
    expect(await read()).toMatchObject({ requests: [{ name: 'csr-a', node: null }] });
  },
);

test.each<[Fault, string]>([
  [{ status: 403 }, expect.stringMatching(/^403 Forbidden: you need "list" /) as string],
  [{ status: 404 }, 'the API server answered 404'],
  ['hang', 'timed out'],
])('gives the reason if the answer to the list is %j', async (fault, reason) => {
  cluster.faults.intercept(() => fault);
  const signal = fault === 'hang' ? AbortSignal.timeout(50) : new AbortController().signal;
  expect(await read(signal)).toEqual({ readable: false, reason, requests: [] });
});

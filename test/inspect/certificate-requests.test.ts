import forge from 'node-forge';
import { expect, test } from 'vitest';
import { readPendingCertificateRequests } from '../../src/inspect/certificate-requests.ts';
import { fail, fakeApi, list, notServed, send } from '../support/fake-api.ts';

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

function request(name: string, spec: object, status: object = {}): object {
  return { metadata: { name, creationTimestamp: '2026-11-20T10:00:00Z' }, spec, status };
}

const signal = (): AbortSignal => AbortSignal.timeout(10_000);

async function read(...requests: object[]) {
  const { api } = await fakeApi((_asked, response) => {
    send(response, list(requests));
  });
  return readPendingCertificateRequests(api, signal());
}

test('of a node that joins, the name stands in the request; of one that has joined, it is the user', async () => {
  const joining = pkcs10(
    { shortName: 'O', value: 'system:nodes' },
    { shortName: 'CN', value: 'system:node:control0.gw.lo' },
  );
  expect(
    await read(
      request('csr-b', { signerName: SERVING, username: 'system:node:worker0', request: 'bm90aGluZw==' }),
      request('csr-a', { signerName: CLIENT, username: BOOTSTRAPPER, request: joining }),
    ),
  ).toEqual({
    readable: true,
    requests: [
      { name: 'csr-a', node: 'control0.gw.lo', signer: CLIENT, createdAt: new Date('2026-11-20T10:00:00Z') },
      { name: 'csr-b', node: 'worker0', signer: SERVING, createdAt: new Date('2026-11-20T10:00:00Z') },
    ],
  });
});

test.each([
  ['approved', { conditions: [{ type: 'Approved', status: 'True' }] }],
  ['denied', { conditions: [{ type: 'Denied', status: 'True' }] }],
  ['failed', { conditions: [{ type: 'Failed', status: 'True' }] }],
  ['issued', { certificate: 'LS0t' }],
])('one that is %s is not pending', async (_what, status) => {
  expect(await read(request('csr-a', { signerName: CLIENT, username: 'system:node:n' }, status))).toEqual({
    readable: true,
    requests: [],
  });
});

test('requests of others than nodes are none of ours', async () => {
  expect(await read(request('csr-a', { signerName: 'kubernetes.io/kube-apiserver-client', username: 'jane' }))).toEqual(
    {
      readable: true,
      requests: [],
    },
  );
});

test.each([['bm90aGluZw=='], [undefined], [7], [pkcs10({ shortName: 'CN', value: 'jane' })]])(
  'a request that names no node is shown without one: %s',
  async (pem) => {
    expect(await read(request('csr-a', { signerName: CLIENT, username: BOOTSTRAPPER, request: pem }))).toMatchObject({
      requests: [{ name: 'csr-a', node: undefined }],
    });
  },
);

test('without the right to see them, that is said', async () => {
  const { api } = await fakeApi((_asked, response) => {
    fail(response, 403);
  });
  expect(await readPendingCertificateRequests(api, signal())).toEqual({
    readable: false,
    reason: 'you may not list certificatesigningrequests.certificates.k8s.io',
  });
});

test('any other failure is said too, and is no error', async () => {
  const { api } = await fakeApi((_asked, response) => {
    notServed(response);
  });
  expect(await readPendingCertificateRequests(api, signal())).toEqual({
    readable: false,
    reason: 'the API server answered 404',
  });
  const silent = await fakeApi(() => {});
  expect(await readPendingCertificateRequests(silent.api, AbortSignal.timeout(50))).toEqual({
    readable: false,
    reason: 'timed out',
  });
});

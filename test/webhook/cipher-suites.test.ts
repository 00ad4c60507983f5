import { expect, test } from 'vitest';
import { toOpenSslCiphers } from '../../src/webhook/cipher-suites.ts';

const AES_128 = 'ECDHE-RSA-AES128-GCM-SHA256';
const TLS_1_3 = 'TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256';

test.each([
  ['of OpenSSL', [AES_128]],
  ['of IANA', ['TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256']],
  ['of TLS 1.3', ['TLS_AES_256_GCM_SHA384', AES_128]],
])('accepts names %s, and keeps all suites of TLS 1.3', (_case, names) => {
  expect(toOpenSslCiphers(names)).toBe(`${TLS_1_3}:${AES_128}`);
});

// Each is in OpenShift's Old profile or in the list of kube-apiserver's --tls-cipher-suites, except the last two.
const OLD = ['AES128-GCM-SHA256', 'ECDHE-RSA-AES128-SHA256', 'DES-CBC3-SHA', 'TLS_RSA_WITH_AES_128_GCM_SHA256'];

test.each([...OLD, 'TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA', 'ALL', ''])('rejects %j', (name) => {
  const advice = `use names of OpenShift's Intermediate profile, such as ${AES_128}.`;
  const message = `The cipher suite ${JSON.stringify(name)} is unknown or insecure; ${advice}`;
  expect(() => toOpenSslCiphers([AES_128, name])).toThrow(new RangeError(message));
});

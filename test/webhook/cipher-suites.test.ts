import { expect, test } from 'vitest';
import { INTERMEDIATE_CIPHERS, toOpenSslCiphers } from '../../src/webhook/cipher-suites.ts';

const TLS_1_3 = 'TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256';

test.each([
  ['names of OpenSSL', ['ECDHE-RSA-AES128-GCM-SHA256'], `${TLS_1_3}:ECDHE-RSA-AES128-GCM-SHA256`],
  ['names of IANA', ['TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256'], `${TLS_1_3}:ECDHE-RSA-AES128-GCM-SHA256`],
  [
    'a suite of TLS 1.3',
    ['TLS_AES_256_GCM_SHA384', 'ECDHE-RSA-AES128-GCM-SHA256'],
    'TLS_AES_256_GCM_SHA384:ECDHE-RSA-AES128-GCM-SHA256',
  ],
  ["OpenShift's Intermediate profile", INTERMEDIATE_CIPHERS.split(':'), INTERMEDIATE_CIPHERS],
])('accepts %s', (_case, names, ciphers) => {
  expect(toOpenSslCiphers(names)).toBe(ciphers);
});

// Each is in OpenShift's Old profile or in the list of kube-apiserver's --tls-cipher-suites, except the last two.
test.each([
  'AES128-SHA',
  'AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-SHA256',
  'DHE-RSA-AES256-SHA256',
  'DES-CBC3-SHA',
  'TLS_RSA_WITH_AES_128_GCM_SHA256',
  'TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA',
  'TLS_ECDHE_RSA_WITH_RC4_128_SHA',
  'ALL',
  '',
])('rejects %j', (name) => {
  expect(() => toOpenSslCiphers(['ECDHE-RSA-AES128-GCM-SHA256', name])).toThrow(
    new RangeError(
      `The cipher suite ${JSON.stringify(name)} is unknown or insecure; ` +
        "use names of OpenShift's Intermediate profile, such as ECDHE-RSA-AES128-GCM-SHA256.",
    ),
  );
});

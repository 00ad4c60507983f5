import { expect, test } from 'vitest';
import { readCommonName } from '../../src/inspect/certificate-request-subject.ts';

/** A kubelet's request with an ECDSA key: O=system:nodes, CN=system:node:control0.gw.lo. */
const ECDSA_REQUEST = `-----BEGIN CERTIFICATE REQUEST-----
MIH3MIGeAgEAMDwxFTATBgNVBAoMDHN5c3RlbTpub2RlczEjMCEGA1UEAwwac3lz
dGVtOm5vZGU6Y29udHJvbDAuZ3cubG8wWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC
AATkyqHEAubRxS16Km4fY/tmAbs2nsNe3yAl/J2DULURNkb4vKd3GawgD7QU/LQ6
JmzmafYLk6FowQACselaPomLoAAwCgYIKoZIzj0EAwIDSAAwRQIgLrJQs5l/hsiE
4aLvBvcsOTPpckw26D8BjWiHgY3CiHcCIQCIiIHJp/vg6a2aXhhkf1Kr8qs+uKj2
qvQ9HjZ6RE+UMg==
-----END CERTIFICATE REQUEST-----`;

test('reads the common name of a request with an ECDSA key', () => {
  expect(readCommonName(ECDSA_REQUEST)).toBe('system:node:control0.gw.lo');
});

test.each(['', 'nothing', ECDSA_REQUEST.slice(0, 100)])(
  'returns undefined for the malformed request %#',
  (pem) => {
    expect(readCommonName(pem)).toBeUndefined();
  },
);

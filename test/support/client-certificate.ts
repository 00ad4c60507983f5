import forge from 'node-forge';
import type { Authority } from '../../src/certificates/authority.ts';
import { generateRsaKeys } from '../../src/certificates/rsa-keys.ts';
import { signCertificate } from '../../src/certificates/sign-certificate.ts';
import { computeValidity } from '../../src/certificates/validity.ts';

/** Issues a certificate and its key, as options of `tls.connect()`. */
export async function issueClientCertificate(
  authority: Authority,
  { usage = 'clientAuth', now = new Date() }: { usage?: 'clientAuth' | 'serverAuth'; now?: Date } = {},
) {
  const { publicKeyPem, privateKeyPem: key } = await generateRsaKeys(2048);
  const cert = signCertificate({
    subject: [{ name: 'commonName', value: 'kube-apiserver' }],
    issuer: forge.pki.certificateFromPem(authority.certificatePem).subject.attributes,
    publicKeyPem,
    validity: computeValidity(now, 1),
    extensions: [{ name: 'extKeyUsage', [usage]: true }],
    issuerKeyPem: authority.privateKeyPem,
  });
  return { cert, key };
}

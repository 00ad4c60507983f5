import { type Authority, createAuthority } from '../../../src/certificates/authority.ts';
import { issueLeaf } from '../../../src/certificates/leaf.ts';

/** A certificate for a server on 127.0.0.1, its key, and the authority that clients must trust. PEM. */
export type ServerCertificate = Awaited<ReturnType<typeof issueServerCertificate>>;

let authority: Promise<Authority> | undefined;

/** Issues a certificate that is valid for a day. All certificates of this process come from one authority. */
export async function issueServerCertificate() {
  const now = new Date();
  authority ??= createAuthority({ days: 1, now });
  const { certificatePem: ca } = await authority;
  const names = { dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'] };
  const leaf = await issueLeaf({ authority: await authority, ...names, days: 1, now });
  return { ca, certificate: leaf.certificatePem, key: leaf.privateKeyPem };
}

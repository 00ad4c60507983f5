import { type Authority, createAuthority, issueLeaf } from '../../../src/certificates/authority.ts';

/** The certificate of a server, its key, and the authority that clients must trust. PEM. */
export type ServerCertificate = Awaited<ReturnType<typeof issueServerCertificate>>;

let authority: Promise<Authority> | undefined;

/**
 * Issues a certificate for 127.0.0.1 and these addresses that is valid for a day. All certificates of this process
 * come from one authority.
 */
export async function issueServerCertificate(addresses: readonly string[] = []) {
  const now = new Date();
  authority ??= createAuthority({ days: 1, now });
  const { certificatePem: ca } = await authority;
  const names = { dnsNames: ['localhost'], ipAddresses: ['127.0.0.1', ...addresses] };
  const leaf = await issueLeaf({ authority: await authority, ...names, days: 1, now });
  return { ca, certificate: leaf.certificatePem, key: leaf.privateKeyPem };
}

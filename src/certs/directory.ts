import { type OutputFile, prepareOutput, writeOutput } from './output-directory.ts';
import type { KeyPair } from './key-pair.ts';

/** The files of a certificate directory: an authority and a leaf it signed. The names are a contract with scripts. */
export const CERTIFICATE_FILES = ['ca.crt', 'ca.key', 'tls.crt', 'tls.key'] as const;

/** One of the four. */
export type CertificateFile = (typeof CERTIFICATE_FILES)[number];

/** Checks, before any key is made, that the four files can be written; see {@link prepareOutput}. Throws a DirectoryError. */
export async function prepareDirectory(directory: string, overwrite: boolean): Promise<void> {
  await prepareOutput(directory, CERTIFICATE_FILES, overwrite);
}

/** Writes both pairs and answers the paths; see {@link writeOutput}. Throws a DirectoryError. */
export async function writeDirectory(
  directory: string,
  authority: KeyPair,
  leaf: KeyPair,
): Promise<Readonly<Record<CertificateFile, string>>> {
  return await writeOutput(directory, [
    { name: 'ca.crt', content: authority.certificatePem, secret: false },
    { name: 'ca.key', content: authority.privateKeyPem, secret: true },
    { name: 'tls.crt', content: leaf.certificatePem, secret: false },
    { name: 'tls.key', content: leaf.privateKeyPem, secret: true },
  ] satisfies readonly OutputFile<CertificateFile>[]);
}

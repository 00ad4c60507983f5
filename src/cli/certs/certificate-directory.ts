import { type OutputFile, prepareOutputDirectory, writeOutputFiles } from '../../install/output-directory.ts';
import type { KeyPair } from '../../certificates/key-pair.ts';

/** The files of a certificate directory: an authority and a leaf it signed. The names are a contract with scripts. */
export const CERTIFICATE_FILES = ['ca.crt', 'ca.key', 'tls.crt', 'tls.key'] as const;

/** One of the four. */
export type CertificateFile = (typeof CERTIFICATE_FILES)[number];

/** Checks, before any key is made, that the four files can be written; see {@link prepareOutputDirectory}. Throws a DirectoryError. */
export async function prepareCertificateDirectory(directory: string, overwrite: boolean): Promise<void> {
  await prepareOutputDirectory(directory, CERTIFICATE_FILES, overwrite);
}

/** Writes both pairs and answers the paths; see {@link writeOutputFiles}. Throws a DirectoryError. */
export async function writeCertificateDirectory(
  directory: string,
  authority: KeyPair,
  leaf: KeyPair,
): Promise<Readonly<Record<CertificateFile, string>>> {
  return await writeOutputFiles(directory, [
    { name: 'ca.crt', content: authority.certificatePem, secret: false },
    { name: 'ca.key', content: authority.privateKeyPem, secret: true },
    { name: 'tls.crt', content: leaf.certificatePem, secret: false },
    { name: 'tls.key', content: leaf.privateKeyPem, secret: true },
  ] satisfies readonly OutputFile<CertificateFile>[]);
}

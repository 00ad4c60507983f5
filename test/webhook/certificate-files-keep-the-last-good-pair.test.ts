import { rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test, vi } from 'vitest';
import { watchCertificateFiles } from '../../src/certificates/certificate-files.ts';
import { emptyDirectory, leaves, recordingLog, untilTestEnds } from './certificate-directory.ts';

/** In one step, so that what is refused is this content and not the empty file that writeFile() starts with. */
async function replace(file: string, content: string): Promise<void> {
  await writeFile(`${file}.new`, content);
  await rename(`${file}.new`, file);
}

const made = leaves(3);

const REFUSED = 'warn: new serving certificate not usable; the previous one stays';

test.each([
  ['the certificate of another key', async (file: string, next: string) => replace(file, next)],
  ['half a certificate', async (file: string, next: string) => replace(file, next.slice(0, next.length / 2))],
  ['no PEM at all', async (file: string) => replace(file, 'garbage')],
  ['an empty file', async (file: string) => replace(file, '')],
  ['no file', async (file: string) => rm(file)],
])('%s is refused once, the old pair stays, and the next whole pair is taken', async (_case, spoil) => {
  const [first, second] = await made;
  const directory = await emptyDirectory();
  const certFile = path.join(directory, 'tls.crt');
  const keyFile = path.join(directory, 'tls.key');
  await writeFile(certFile, first!.certificatePem);
  await writeFile(keyFile, first!.privateKeyPem);
  const { log, lines } = recordingLog();
  const certificate = await watchCertificateFiles({ certFile, keyFile, log, signal: untilTestEnds(), retryMs: 20 });
  const changed = vi.fn<() => void>();
  certificate.onChange(changed);

  await spoil(certFile, second!.certificatePem);
  await vi.waitFor(() => expect(lines).toContain(REFUSED), { timeout: 5_000 });
  // Many more tries, and not a word about them.
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(lines.filter((line) => line === REFUSED)).toHaveLength(1);
  expect(certificate.current()).toEqual({ cert: first!.certificatePem, key: first!.privateKeyPem });
  expect(changed).not.toHaveBeenCalled();

  await writeFile(keyFile, second!.privateKeyPem);
  await writeFile(certFile, second!.certificatePem);
  await vi.waitFor(() => expect(changed).toHaveBeenCalledOnce(), { timeout: 5_000 });
  expect(certificate.current()).toEqual({ cert: second!.certificatePem, key: second!.privateKeyPem });
});

test('a listener that throws does not end the watching', async () => {
  const [first, second, third] = await made;
  const directory = await emptyDirectory();
  const certFile = path.join(directory, 'tls.crt');
  const keyFile = path.join(directory, 'tls.key');
  const write = async (leaf: typeof first): Promise<void> => {
    await writeFile(keyFile, leaf!.privateKeyPem);
    await writeFile(certFile, leaf!.certificatePem);
  };
  await write(first);
  const { log, lines } = recordingLog();
  const certificate = await watchCertificateFiles({ certFile, keyFile, log, signal: untilTestEnds(), retryMs: 20 });
  certificate.onChange(() => {
    throw new Error('no');
  });
  for (const next of [second, third]) {
    await write(next);
    await vi.waitFor(() => expect(certificate.current().cert).toBe(next!.certificatePem), { timeout: 5_000 });
  }
  expect(lines).toContain('error: new serving certificate could not be put to use');
});

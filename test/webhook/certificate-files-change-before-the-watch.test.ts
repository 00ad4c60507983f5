import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test, vi } from 'vitest';
import { watchCertificateFiles } from '../../src/certificates/certificate-files.ts';
import { emptyDirectory, leaves, recordingLog, untilTestEnds } from './certificate-directory.ts';

test('a change between the first read and the watch does not wait for the poll', async () => {
  const [first, second] = await leaves(2);
  const directory = await emptyDirectory();
  const certFile = path.join(directory, 'tls.crt');
  const keyFile = path.join(directory, 'tls.key');
  writeFileSync(certFile, first!.certificatePem);
  writeFileSync(keyFile, first!.privateKeyPem);
  const certificate = await watchCertificateFiles({
    certFile,
    keyFile,
    log: recordingLog().log,
    signal: untilTestEnds(),
    // The pair is replaced at the last moment at which no watch would tell.
    watchDirectory: () => {
      writeFileSync(certFile, second!.certificatePem);
      writeFileSync(keyFile, second!.privateKeyPem);
    },
  });
  await vi.waitFor(() => expect(certificate.current().cert).toBe(second!.certificatePem), { timeout: 5_000 });
});

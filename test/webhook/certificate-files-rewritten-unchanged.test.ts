import { utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { watchCertificateFiles } from '../../src/certificates/certificate-files.ts';
import { emptyDirectory, leaves, recordingLog, untilTestEnds } from './certificate-directory.ts';

test('files that are touched, but say the same, change nothing', async () => {
  const [leaf] = await leaves(1);
  const directory = await emptyDirectory();
  const certFile = path.join(directory, 'tls.crt');
  const keyFile = path.join(directory, 'tls.key');
  writeFileSync(certFile, leaf!.certificatePem);
  writeFileSync(keyFile, leaf!.privateKeyPem);
  const { log, lines } = recordingLog();
  const certificate = await watchCertificateFiles({ certFile, keyFile, log, signal: untilTestEnds(), pollMs: 50 });
  const changed = vi.fn<() => void>();
  certificate.onChange(changed);
  utimesSync(certFile, new Date(), new Date());
  // Several polls and the debounced event.
  await setTimeout(500);
  expect(changed).not.toHaveBeenCalled();
  expect(lines).toEqual(['info: serving certificate loaded']);
});

import path from 'node:path';
import { expect, test, vi } from 'vitest';
import { watchCertificateFiles } from '../../src/certificates/certificate-files.ts';
import { emptyDirectory, leaves, recordingLog, swapGeneration, untilTestEnds } from './certificate-directory.ts';

test('every swap of the ..data link brings the new pair, not only the first', async () => {
  const generations = await leaves(6);
  const volume = await emptyDirectory();
  await swapGeneration(volume, 1, generations[0]!);
  const { log, lines } = recordingLog();
  const certificate = await watchCertificateFiles({
    certFile: path.join(volume, 'tls.crt'),
    keyFile: path.join(volume, 'tls.key'),
    log,
    signal: untilTestEnds(),
  });
  const seen: string[] = [];
  certificate.onChange(() => seen.push(certificate.current().cert));
  expect(certificate.current()).toEqual({ cert: generations[0]!.certificatePem, key: generations[0]!.privateKeyPem });

  for (let generation = 2; generation <= generations.length; generation += 1) {
    const next = generations[generation - 1]!;
    await swapGeneration(volume, generation, next);
    // Far below the 30 s of the poll: it is the watch that is seen to work.
    await vi.waitFor(() => expect(certificate.current().key).toBe(next.privateKeyPem), { timeout: 5_000 });
  }
  expect(seen).toEqual(generations.slice(1).map(({ certificatePem }) => certificatePem));
  // A read in the middle of a swap may have warned; it must not have replaced anything.
  expect(lines.filter((line) => line.startsWith('info'))).toEqual([
    'info: serving certificate loaded',
    ...generations.slice(1).map(() => 'info: serving certificate replaced'),
  ]);
});

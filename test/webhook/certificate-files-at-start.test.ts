import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { watchCertificateFiles, CertificateFilesError } from '../../src/certificates/certificate-files.ts';
import type { ServingCertificate } from '../../src/certificates/serving-certificate.ts';
import { emptyDirectory, leaves, recordingLog, untilTestEnds } from './certificate-directory.ts';

const DAY_MS = 86_400_000;

const made = leaves(2);

async function start(
  files: { readonly cert?: string; readonly key?: string },
  now = new Date(),
): Promise<{ certificate: ServingCertificate; lines: string[] }> {
  const directory = await emptyDirectory();
  const certFile = path.join(directory, 'tls.crt');
  const keyFile = path.join(directory, 'tls.key');
  if (files.cert !== undefined) await writeFile(certFile, files.cert);
  if (files.key !== undefined) await writeFile(keyFile, files.key);
  const { log, lines } = recordingLog();
  const signal = untilTestEnds();
  return {
    certificate: await watchCertificateFiles({ certFile, keyFile, log, signal, now: () => now, retryMs: 20 }),
    lines,
  };
}

test('a missing file is one sentence that names it', async () => {
  const [leaf] = await made;
  await expect(start({})).rejects.toThrow(/^\S+\/tls\.crt does not exist\.$/);
  await expect(start({ cert: leaf!.certificatePem })).rejects.toThrow(/^\S+\/tls\.key does not exist\.$/);
  await expect(start({})).rejects.toBeInstanceOf(CertificateFilesError);
});

test('files that do not fit together are one sentence with the reason', async () => {
  const [leaf, other] = await made;
  const { certificatePem: cert, privateKeyPem: key } = leaf!;
  await expect(start({ cert, key: other!.privateKeyPem })).rejects.toThrow(
    /^\S+tls\.crt and \S+tls\.key cannot be served with: the private key belongs to another certificate\.$/,
  );
  await expect(start({ cert: 'garbage', key })).rejects.toThrow(/: the certificate cannot be read as PEM\.$/);
  await expect(start({ cert, key: 'garbage' })).rejects.toThrow(/: the private key cannot be read as PEM\.$/);
  await expect(start({ cert: key, key: cert })).rejects.toThrow(/: the certificate cannot be read as PEM\.$/);
});

test('files that are being written are waited for', async () => {
  const [leaf, other] = await made;
  const directory = await emptyDirectory();
  const certFile = path.join(directory, 'tls.crt');
  const keyFile = path.join(directory, 'tls.key');
  await writeFile(certFile, leaf!.certificatePem);
  await writeFile(keyFile, other!.privateKeyPem);
  const { log } = recordingLog();
  const starting = watchCertificateFiles({ certFile, keyFile, log, signal: untilTestEnds(), retryMs: 300 });
  // Well after the first read, well before the first retry.
  await setTimeout(100);
  await writeFile(keyFile, leaf!.privateKeyPem);
  await expect(starting).resolves.toBeDefined();
});

test.each([
  ['expired', 8, 'warn: serving certificate has expired; the API server will refuse it'],
  ['not valid yet', -8, 'warn: serving certificate is not valid yet; the API server will refuse it'],
])('a certificate that is %s is served, with a warning', async (_case, daysLater, warning) => {
  const issued = new Date('2026-11-20T12:00:00Z');
  const [leaf] = await leaves(1, issued);
  const { certificate, lines } = await start(
    { cert: leaf!.certificatePem, key: leaf!.privateKeyPem },
    new Date(issued.getTime() + daysLater * DAY_MS),
  );
  expect(certificate.current().cert).toBe(leaf!.certificatePem);
  expect(lines).toEqual(['info: serving certificate loaded', warning]);
});

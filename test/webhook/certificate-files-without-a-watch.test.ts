import path from 'node:path';
import { expect, test, vi } from 'vitest';
import { watchCertificateFiles, type WatchDirectory } from '../../src/certificates/certificate-files.ts';
import { emptyDirectory, leaves, recordingLog, swapGeneration, untilTestEnds } from './certificate-directory.ts';

const unavailable: WatchDirectory = () => {
  throw Object.assign(new Error('ENOSPC: System limit for number of file watchers reached'), { code: 'ENOSPC' });
};

const silent: WatchDirectory = () => {};

const dying: WatchDirectory = (_directory, _changed, failed) => {
  setImmediate(() => failed(new Error('EBADF: bad file descriptor')));
};

const made = leaves(2);

test.each([
  ['cannot be had', unavailable, 1],
  ['never fires, as on network file systems', silent, 0],
  ['fails later', dying, 1],
])('a watch that %s: the poll finds the new pair', async (_case, watchDirectory, warnings) => {
  const [first, second] = await made;
  const volume = await emptyDirectory();
  await swapGeneration(volume, 1, first!);
  const { log, lines } = recordingLog();
  const certificate = await watchCertificateFiles({
    certFile: path.join(volume, 'tls.crt'),
    keyFile: path.join(volume, 'tls.key'),
    log,
    signal: untilTestEnds(),
    watchDirectory,
    pollMs: 200,
  });
  // Past the look that follows the first read.
  await new Promise((resolve) => setTimeout(resolve, 300));
  await swapGeneration(volume, 2, second!);
  await vi.waitFor(() => expect(certificate.current().cert).toBe(second!.certificatePem), { timeout: 5_000 });
  expect(lines.filter((line) => line.startsWith('warn: certificate directory cannot be watched'))).toHaveLength(
    warnings,
  );
});

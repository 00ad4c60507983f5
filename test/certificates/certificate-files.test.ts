import { rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { createAuthority, issueLeaf } from '../../src/certificates/authority.ts';
import { CertificateFilesError, watchCertificateFiles } from '../../src/certificates/certificate-files.ts';
import type { KeyPair } from '../../src/certificates/key-pair.ts';
import { createTemporaryDirectory } from '../cli/temporary-directory.ts';
import { memoryLog } from '../support/log.ts';
import { fakeUntilEnd } from '../support/until-end.ts';

const LOADED = 'serving certificate loaded';
const NOT_USABLE = 'new serving certificate not usable; the previous one stays: ';

let first: KeyPair;
let second: KeyPair;

beforeEach(async () => {
  const now = new Date();
  const authority = await createAuthority({ days: 30, now });
  const options = { authority, dnsNames: ['guard.example.com'], ipAddresses: [], days: 7, now };
  [first, second] = await Promise.all([issueLeaf(options), issueLeaf(options)]);
  fakeUntilEnd('setTimeout', 'clearTimeout');
});

/** Between two reads there is a timer. */
async function awaitTimer() {
  while (vi.getTimerCount() === 0) await setImmediate();
}

async function awaitNextRead() {
  await awaitTimer();
  vi.advanceTimersToNextTimer();
  await awaitTimer();
}

/** Files in a new directory, which are watched until the end of the test. */
async function createFiles(pair: Partial<KeyPair> = {}) {
  const directory = createTemporaryDirectory();
  const [certFile, keyFile] = [path.join(directory, 'tls.crt'), path.join(directory, 'tls.key')];
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const write = async ({ certificatePem, privateKeyPem }: Partial<KeyPair>) => {
    for (const [file, pem] of [
      [certFile, certificatePem],
      [keyFile, privateKeyPem],
    ] as const) {
      if (pem === undefined) continue;
      // At once, because the files are read at any time.
      await writeFile(`${file}.new`, pem);
      await rename(`${file}.new`, file);
    }
  };
  await write(pair);
  const { log, messages } = memoryLog();
  const start = async () => await watchCertificateFiles({ certFile, keyFile, log, signal: stop.signal });
  return { certFile, messages, write, start };
}

function spoilDates(pem: string) {
  const der = Buffer.from(pem.replaceAll(/-----[^-]+-----/g, ''), 'base64');
  const UTC_TIME = Buffer.from([0x17, 0x0d]);
  const notBefore = der.indexOf(UTC_TIME);
  der.write('269924000000Z', der.indexOf(UTC_TIME, notBefore + UTC_TIME.length) + UTC_TIME.length);
  return `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`;
}

const GARBAGE = '-----BEGIN CERTIFICATE-----\nx';
const ANOTHER = 'the private key belongs to another certificate';

test('reads the files each second', async () => {
  const { messages, write, start } = await createFiles(first);
  await start();
  await awaitTimer();
  await write(second);
  vi.advanceTimersByTime(1_000);
  await awaitTimer();
  expect(messages()).toEqual([LOADED, 'serving certificate replaced']);
});

test.each<[string, () => Partial<KeyPair>, string]>([
  ['there is no key', () => ({ certificatePem: first.certificatePem }), '/tls.key does not exist.'],
  ['the key belongs to another certificate', () => ({ ...first, privateKeyPem: second.privateKeyPem }), ANOTHER],
  ['the chain ends in garbage', () => ({ ...first, certificatePem: first.certificatePem + GARBAGE }), 'cannot serve'],
])('rejects at start if %s', async (_case, pair, message) => {
  const starting = (await createFiles(pair())).start();
  await expect(starting).rejects.toThrow(message);
  await expect(starting).rejects.toBeInstanceOf(CertificateFilesError);
});

test.each<[string, string, () => string | undefined]>([
  ['another certificate', ANOTHER, () => second.certificatePem],
  ['one without readable dates', 'its dates are not readable', () => spoilDates(first.certificatePem)],
  ['an empty file', 'the certificate cannot be read as PEM', () => ''],
  ['no file', 'tls.crt does not exist', () => undefined],
])('keeps the last pair and logs once while there is %s: %s', async (_case, reason, certificatePem) => {
  const { write, certFile, messages, start } = await createFiles(first);
  const certificate = await start();
  const onChange = vi.fn<() => void>();
  certificate.onChange(onChange);
  const pem = certificatePem();
  await (pem === undefined ? rm(certFile) : write({ certificatePem: pem }));
  for (let reads = 0; reads < 3; reads += 1) await awaitNextRead();
  expect(messages()).toEqual([LOADED, expect.stringContaining(NOT_USABLE)]);
  expect(messages()[1]).toContain(reason);
  expect(onChange).not.toHaveBeenCalled();
  expect(certificate.current()).toEqual(first);
  await write(second);
  await awaitNextRead();
  expect(onChange).toHaveBeenCalledOnce();
  expect(certificate.current()).toEqual(second);
  await rm(certFile);
  await awaitNextRead();
  expect(messages().at(-1)).toContain(`${certFile} does not exist`);
});

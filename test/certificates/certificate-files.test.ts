import { EventEmitter } from 'node:events';
import { writeFileSync, type FSWatcher } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { createAuthority } from '../../src/certificates/authority.ts';
import {
  type CertificateFilesOptions,
  watchCertificateFiles,
} from '../../src/certificates/certificate-files.ts';
import { CertificateFilesError } from '../../src/certificates/file-follower.ts';
import type { KeyPair } from '../../src/certificates/key-pair.ts';
import { issueLeaf } from '../../src/certificates/leaf.ts';
import { memoryLog } from '../support/log.ts';

const DAY_MS = 86_400_000;
const LOADED = 'serving certificate loaded';
const REPLACED = 'serving certificate replaced';
const NOT_USABLE = 'new serving certificate not usable; the previous one stays: ';

let leaves: KeyPair[];
let first: KeyPair;
let second: KeyPair;

beforeAll(async () => {
  const now = new Date();
  const authority = await createAuthority({ days: 30, now });
  const options = { authority, dnsNames: ['guard.example.com'], ipAddresses: [], days: 7, now };
  leaves = await Promise.all([1, 2, 3].map(async () => await issueLeaf(options)));
  [first, second] = leaves as [KeyPair, KeyPair];
});

/** Replaces a file by a rename, so that no reader sees the empty file with which writeFile() starts. */
async function replace(file: string, content: string) {
  await writeFile(`${file}.new`, content);
  await rename(`${file}.new`, file);
}

type Files = Awaited<ReturnType<typeof createFiles>>;

async function createFiles(pair: Partial<KeyPair> = {}) {
  const directory = await mkdtemp(path.join(tmpdir(), 'mcg-certificates-'));
  const [certFile, keyFile] = [path.join(directory, 'tls.crt'), path.join(directory, 'tls.key')];
  const stop = new AbortController();
  onTestFinished(async () => {
    stop.abort();
    await rm(directory, { recursive: true, force: true });
  });
  const write = async ({ certificatePem, privateKeyPem }: Partial<KeyPair>) => {
    if (certificatePem !== undefined) await replace(certFile, certificatePem);
    if (privateKeyPem !== undefined) await replace(keyFile, privateKeyPem);
  };
  await write(pair);
  const { log, messages } = memoryLog();
  return {
    directory,
    certFile,
    keyFile,
    messages,
    write,
    start: async (options: Partial<CertificateFilesOptions> = {}) =>
      await watchCertificateFiles({
        certFile,
        keyFile,
        log,
        signal: stop.signal,
        retryMs: 20,
        ...options,
      }),
  };
}

/** Swaps the directory behind the link ..data by a rename, as kubelet does in a Secret volume. */
async function swapSecretVolume(volume: string, generation: number, pair: KeyPair) {
  const name = `..generation_${generation}`;
  await mkdir(path.join(volume, name));
  await writeFile(path.join(volume, name, 'tls.crt'), pair.certificatePem);
  await writeFile(path.join(volume, name, 'tls.key'), pair.privateKeyPem);
  await symlink(name, path.join(volume, '..data_tmp'));
  await rename(path.join(volume, '..data_tmp'), path.join(volume, '..data'));
  if (generation > 0) {
    await rm(path.join(volume, `..generation_${generation - 1}`), { recursive: true });
    return;
  }
  for (const file of ['tls.crt', 'tls.key']) await symlink(`..data/${file}`, path.join(volume, file));
}

const GARBAGE = '-----BEGIN CERTIFICATE-----\nx';

test.each<[string, () => Partial<KeyPair>, RegExp]>([
  [
    'there is no key',
    () => ({ certificatePem: first.certificatePem }),
    /^\S+\/tls\.key does not exist\.$/,
  ],
  [
    'the key belongs to another certificate',
    () => ({ ...first, privateKeyPem: second.privateKeyPem }),
    /^cannot serve with \S+tls\.crt and \S+tls\.key: the private key belongs to another/,
  ],
  [
    'the end of the chain is garbage',
    () => ({ ...first, certificatePem: first.certificatePem + GARBAGE }),
    /cannot serve with/,
  ],
])('rejects at start if %s', async (_case, pair, message) => {
  const starting = (await createFiles(pair())).start();
  await expect(starting).rejects.toThrow(message);
  await expect(starting).rejects.toBeInstanceOf(CertificateFilesError);
});

test('waits at start for files that are being written', async () => {
  const files = await createFiles({ ...first, privateKeyPem: second.privateKeyPem });
  const starting = files.start({ retryMs: 300 });
  await sleep(100);
  await files.write(first);
  expect((await starting).current()).toEqual(first);
});

test.each([
  ['has expired', 8, 'serving certificate has expired; the API server will reject it'],
  ['is not valid yet', -8, 'serving certificate is not valid yet; the API server will reject it'],
])('serves a certificate that %s, and warns', async (_case, days, warning) => {
  const files = await createFiles(first);
  const certificate = await files.start({ now: () => new Date(Date.now() + days * DAY_MS) });
  expect(certificate.current()).toEqual(first);
  expect(files.messages()).toEqual([LOADED, warning]);
});

test('replaces the pair at every swap of a Secret volume', async () => {
  const { directory, start, messages } = await createFiles();
  await swapSecretVolume(directory, 0, first);
  const certificate = await start();
  const pairs: KeyPair[] = [];
  certificate.onChange(() => pairs.push(certificate.current()));
  for (const [index, leaf] of leaves.slice(1).entries()) {
    await swapSecretVolume(directory, index + 1, leaf);
    // Far below the 30 s of the poll: the watch works.
    await vi.waitFor(() => expect(certificate.current()).toEqual(leaf), { timeout: 5_000 });
  }
  expect(pairs).toEqual(leaves.slice(1));
  // A read in the middle of a swap may have warned.
  const replaced = leaves.slice(1).map(() => REPLACED);
  expect(messages().filter((text) => !text.startsWith(NOT_USABLE))).toEqual([LOADED, ...replaced]);
});

test.each<[string, (files: Files) => Promise<void>]>([
  ['another certificate', async ({ write }) => await write({ certificatePem: second.certificatePem })],
  ['an empty file', async ({ write }) => await write({ certificatePem: '' })],
  ['no file', async ({ certFile }) => await rm(certFile)],
])('keeps the last pair and logs once while there is %s', async (_case, spoil) => {
  const files = await createFiles(first);
  const certificate = await files.start();
  const onChange = vi.fn<() => void>();
  certificate.onChange(onChange);
  await spoil(files);
  await vi.waitFor(
    () => expect(files.messages()).toContainEqual(expect.stringContaining(NOT_USABLE)),
    5_000,
  );
  await sleep(500);
  expect(files.messages()).toHaveLength(2);
  expect(onChange).not.toHaveBeenCalled();
  expect(certificate.current()).toEqual(first);
  await files.write(second);
  await vi.waitFor(() => expect(onChange).toHaveBeenCalledOnce(), { timeout: 5_000 });
  expect(certificate.current()).toEqual(second);
  await rm(files.certFile);
  const problem = `${files.certFile} does not exist`;
  await vi.waitFor(() => expect(files.messages().at(-1)).toContain(problem), 5_000);
});

test('finds a change between the first read and the start of the watch', async () => {
  const { certFile, keyFile, start } = await createFiles(first);
  const certificate = await start({
    watchDirectory: () => {
      writeFileSync(certFile, second.certificatePem);
      writeFileSync(keyFile, second.privateKeyPem);
      return new EventEmitter() as FSWatcher;
    },
  });
  await vi.waitFor(() => expect(certificate.current()).toEqual(second), { timeout: 5_000 });
});

function throwNoSpace(): never {
  throw new Error('ENOSPC');
}

function failLater(): EventEmitter {
  const watcher = new EventEmitter();
  setImmediate(() => watcher.emit('error', new Error('EBADF')));
  return watcher;
}

test.each<[string, () => EventEmitter, number]>([
  ['is unavailable', throwNoSpace, 1],
  ['sends no events, as on network file systems', () => new EventEmitter(), 0],
  ['fails later', failLater, 1],
])('finds a new pair by polling if the watch %s', async (_case, watch, warnings) => {
  const { start, write, messages } = await createFiles(first);
  const certificate = await start({ watchDirectory: () => watch() as FSWatcher, pollMs: 200 });
  // After the read that follows the start of the watch.
  await sleep(100);
  await write(second);
  await vi.waitFor(() => expect(certificate.current()).toEqual(second), { timeout: 5_000 });
  const text = 'cannot watch the certificate directory; only polling finds changes';
  expect(messages().filter((message) => message === text)).toHaveLength(warnings);
});

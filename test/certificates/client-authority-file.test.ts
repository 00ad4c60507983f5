import { mkdtempSync, rmSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { type Authority, createAuthority } from '../../src/certificates/authority.ts';
import { watchClientAuthorityFile } from '../../src/certificates/client-authority-file.ts';
import { CertificateFilesError } from '../../src/certificates/file-follower.ts';
import { issueLeaf } from '../../src/certificates/leaf.ts';
import { memoryLog } from '../support/log.ts';

const now = new Date();
let authority: Authority;
let first: string;
let second: string;

beforeAll(async () => {
  authority = await createAuthority({ days: 1, now });
  first = authority.certificatePem;
  ({ certificatePem: second } = await createAuthority({ days: 1, now }));
});

async function issueLeafPem(): Promise<string> {
  const names = { dnsNames: ['guard.example.com'], ipAddresses: [] };
  return (await issueLeaf({ authority, ...names, days: 1, now })).certificatePem;
}

function createFile() {
  const directory = mkdtempSync(path.join(tmpdir(), 'mcg-client-ca-'));
  const file = path.join(directory, 'ca.crt');
  const stop = new AbortController();
  onTestFinished(() => {
    stop.abort();
    rmSync(directory, { recursive: true, force: true });
  });
  const { log, messages } = memoryLog();
  return {
    messages,
    /** A rename, so that no reader sees a part. */
    write: async (pem: string) => {
      await writeFile(`${file}.new`, pem);
      await rename(`${file}.new`, file);
    },
    start: async (time = now) =>
      await watchClientAuthorityFile({ file, log, signal: stop.signal, retryMs: 20, now: () => time }),
  };
}

test.each<[string, () => string | Promise<string>, string]>([
  ['is empty', () => '', 'it contains no certificate in PEM'],
  ['contains a key only', () => authority.privateKeyPem, 'it contains no certificate in PEM'],
  ['ends in the middle', () => first + second.slice(0, 400), 'the certificate cannot be read as PEM'],
  [
    'contains another certificate, too',
    async () => first + (await issueLeafPem()),
    'the certificate is not',
  ],
])('rejects at start if the file %s', async (_case, content, reason) => {
  const { start, write } = createFile();
  await write(await content());
  const starting = start();
  await expect(starting).rejects.toThrow(/^cannot verify clients with \S+\/ca\.crt: /);
  await expect(starting).rejects.toThrow(reason);
  await expect(starting).rejects.toBeInstanceOf(CertificateFilesError);
});

test('rejects at start if there is no file', async () => {
  await expect(createFile().start()).rejects.toThrow(/^\S+\/ca\.crt does not exist\.$/);
});

test('keeps the last authorities while the file is unusable, logs it once, and follows the next change', async () => {
  const { messages, start, write } = createFile();
  await write(`# A comment.\n${first}`);
  const clientAuthority = await start();
  const onChange = vi.fn<() => void>();
  clientAuthority.onChange(onChange);
  await write('');
  const problem = 'new client authority not usable; the previous one stays: ';
  await vi.waitFor(() => expect(messages()).toContainEqual(expect.stringContaining(problem)), 5_000);
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(messages()).toHaveLength(2);
  expect(onChange).not.toHaveBeenCalled();
  expect(clientAuthority.current()).toContain(first);

  await write(first + second);
  await vi.waitFor(() => expect(onChange).toHaveBeenCalledOnce(), { timeout: 5_000 });
  expect(clientAuthority.current()).toBe(first + second);
  // A line for each authority.
  expect(messages().slice(2)).toEqual(['client authority replaced', 'client authority replaced']);
});

test('warns about an authority that has expired', async () => {
  const { messages, start, write } = createFile();
  await write(first);
  await start(new Date(now.getTime() + 2 * 86_400_000));
  expect(messages()).toEqual([
    'client authority loaded',
    'client authority is not valid now; the guard rejects its clients',
  ]);
});

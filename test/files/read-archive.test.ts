import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import tar from 'tar-stream';
import { expect, test } from 'vitest';
import { FileError } from '../../src/files/file-error.ts';
import { isArchive, readArchive } from '../../src/files/read-archive.ts';
import { createTemporaryDirectory } from '../cli/temporary-directory.ts';

const FILES: Readonly<Record<string, string>> = { 'a/b.json': '{}', 'a/c.txt': 'c', '../d.json': '1' };

async function pack(): Promise<Buffer> {
  const entries = tar.pack();
  entries.entry({ name: 'a', type: 'directory' });
  for (const [name, content] of Object.entries(FILES)) entries.entry({ name }, content);
  entries.entry({ name: 'link.json', type: 'symlink', linkname: '/etc/passwd' });
  entries.entry({ name: 'zeros' }, Buffer.alloc(100_000));
  entries.finalize();
  return await buffer(entries);
}

async function read(name: string, content: Buffer, signal = new AbortController().signal) {
  const file = join(createTemporaryDirectory(), name);
  writeFileSync(file, content);
  const found: Record<string, string> = {};
  const isWanted = (path: string, bytes: number) => path.endsWith('.json') && bytes < 100;
  for await (const { path, content: text } of readArchive(file, isWanted, signal)) found[path] = text.toString();
  return found;
}

test('reads the wanted files of an archive, with and without compression, and writes none', async () => {
  const [content, wanted] = [await pack(), { 'a/b.json': '{}', '../d.json': '1' }];
  expect(await read('a.tar', content)).toEqual(wanted);
  expect(await read('a.tar.gz', gzipSync(content))).toEqual(wanted);
  expect(await read('a.tgz', gzipSync(content))).toEqual(wanted);
});

test.each([
  ['a truncated archive', 'b.tar', (content: Buffer) => content.subarray(0, 60_000)],
  ['a truncated compressed archive', 'b.tar.gz', (content: Buffer) => gzipSync(content).subarray(0, 200)],
  ['a compressed file with the wrong ending', 'b.tar', (content: Buffer) => gzipSync(content)],
  ['an archive that is not compressed', 'b.tgz', (content: Buffer) => content],
  ['another file', 'b.tar', () => Buffer.alloc(2048, 'x')],
])('rejects %s', async (_, name, change) => {
  const reading = read(name, change(await pack()));
  await expect(reading).rejects.toThrow(FileError);
  await expect(reading).rejects.toThrow(`/${name} is not a complete tar archive; copy it again`);
});

test('ends with the reason of the signal', async () => {
  await expect(read('c.tar', await pack(), AbortSignal.abort(new Error('stopped')))).rejects.toThrow('stopped');
});

test('knows an archive by the end of its name', () => {
  const names = ['must-gather.tar.gz', 'a.tgz', 'a.tar', 'a.gz', 'tar'];
  expect(names.filter(isArchive)).toEqual(['must-gather.tar.gz', 'a.tgz', 'a.tar']);
});

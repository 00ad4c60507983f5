import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { FileError } from '../../src/files/file-error.ts';
import { readRegularFile, readRegularFileSync, readStream } from '../../src/files/read-file.ts';
import { createTemporaryDirectory } from '../cli/temporary-directory.ts';

const { signal } = new AbortController();

/** Creates a file, or with an empty content a named pipe. */
function create(content = ''): string {
  const file = join(createTemporaryDirectory(), 'file');
  if (content === '') execFileSync('mkfifo', [file]);
  else writeFileSync(file, content);
  return file;
}

/** Whether this process has the file open. */
function isOpen(file: string): boolean {
  const descriptors = readdirSync('/proc/self/fd').map((name) => `/proc/self/fd/${name}`);
  // The one that has listed the others is closed.
  return descriptors.filter(existsSync).some((descriptor) => readlinkSync(descriptor) === file);
}

test('reads a file, also one of /proc, which has no size', async () => {
  expect((await readRegularFile(create('abc'), 3, signal)).toString()).toBe('abc');
  expect((await readRegularFile('/proc/self/status', 65_536, signal)).toString()).toContain('Pid:');
  const file = create('abc');
  expect(readRegularFileSync(file, 3).toString()).toBe('abc');
  expect(isOpen(file)).toBe(false);
  expect(readRegularFileSync('/proc/self/status', 65_536).toString()).toContain('Pid:');
});

test.each([
  ['a named pipe without a writer', create, 'it is not a regular file'],
  ['a device that never ends', () => '/dev/zero', 'it is not a regular file'],
  ['a directory', createTemporaryDirectory, 'it is a directory'],
  ['no file', () => join(createTemporaryDirectory(), 'none'), 'it does not exist'],
  ['a name with control characters', () => '/none/\u001B[31m', 'cannot read /none/ [31m: it does not exist'],
  ['a file below a file', () => join(create('a'), 'c'), 'it is not a directory'],
  ['a larger file', () => create('abcd'), 'has more than 3 bytes'],
])('rejects %s', async (_, createFile, message) => {
  const file = createFile();
  const read = readRegularFile(file, 3, signal);
  await expect(read).rejects.toThrow(FileError);
  await expect(read).rejects.toThrow(message);
  expect(() => readRegularFileSync(file, 3)).toThrow(FileError);
  expect(() => readRegularFileSync(file, 3)).toThrow(message);
  await expect.poll(() => isOpen(file)).toBe(false);
});

test('closes what is no regular file before it rejects', async () => {
  const pipe = create();
  await expect(readRegularFile(pipe, 3, signal)).rejects.toThrow(FileError);
  expect(isOpen(pipe)).toBe(false);
});

test('ends with the reason of the signal while a stream is silent', async () => {
  const stop = new AbortController();
  const read = readStream(new Readable({ read: () => {} }), 'standard input', 3, stop.signal);
  stop.abort(new Error('stopped'));
  await expect(read).rejects.toThrow('stopped');
  await expect(readRegularFile('/proc/self/status', 65_536, stop.signal)).rejects.toThrow('stopped');
});

test('reads no more of a stream than its limit', async () => {
  let chunks = 0;
  const endless = new Readable({
    read() {
      chunks += 1;
      this.push(Buffer.alloc(1024));
    },
  });
  const message = 'standard input has more than 4096 bytes';
  await expect(readStream(endless, 'standard input', 4096, signal)).rejects.toThrow(message);
  expect(chunks).toBeLessThan(100);
});

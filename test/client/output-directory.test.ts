import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { prepareOutputDirectory, writeOutputFiles } from '../../src/client/output-directory.ts';
import { createTemporaryDirectory } from '../cli/temporary-directory.ts';

const NAMES = ['ca.crt', 'ca.key'];
let root: string;
const fileOf = (name: string): string => path.join(root, name);

beforeEach(() => {
  root = createTemporaryDirectory();
});

async function write(directory = root, overwrite = false): Promise<void> {
  await prepareOutputDirectory(directory, NAMES, overwrite);
  await writeOutputFiles(directory, [
    { name: 'ca.crt', content: 'new certificate', isPrivate: false },
    { name: 'ca.key', content: 'new key', isPrivate: true },
  ]);
}

test('overwrites all files, and writes a secret to a new file that only its owner can read', async () => {
  for (const name of NAMES) {
    writeFileSync(fileOf(name), 'old');
    chmodSync(fileOf(name), 0o666);
  }
  const { ino } = statSync(fileOf('ca.key'));
  const umask = process.umask(0);
  onTestFinished(() => void process.umask(umask));
  await write(root, true);
  expect(readdirSync(root).sort()).toEqual(NAMES);
  expect(readFileSync(fileOf('ca.key'), 'utf8')).toBe('new key');
  expect(NAMES.map((name) => statSync(fileOf(name)).mode & 0o777)).toEqual([0o644, 0o600]);
  // A process that has the old file open does not see the new key.
  expect(statSync(fileOf('ca.key')).ino).not.toBe(ino);
});

test('replaces a dangling link only with overwrite, and nothing if a directory has the name of a file', async () => {
  symlinkSync(fileOf('target'), fileOf('ca.key'));
  const message = `1 file exists in ${root}; use --force to overwrite`;
  await expect(write()).rejects.toMatchObject({ exitCode: 2, message });
  expect(readdirSync(root)).toEqual(['ca.key']);
  await write(root, true);
  expect(readFileSync(fileOf('ca.key'), 'utf8')).toBe('new key');
  // The target still does not exist.
  expect(readdirSync(root).sort()).toEqual(NAMES);
  rmSync(fileOf('ca.key'));
  mkdirSync(fileOf('ca.key'));
  writeFileSync(fileOf('ca.crt'), 'mine');
  const reason = `cannot write ${fileOf('ca.key')}: it is a directory; remove it`;
  await expect(write(root, true)).rejects.toMatchObject({ exitCode: 2, message: reason });
  expect(readFileSync(fileOf('ca.crt'), 'utf8')).toBe('mine');
});

// Node's own recursive mkdir would never end in /proc.
test('ends if no directory can be created', async () => {
  const message = 'cannot write to /proc/guard/certs: it does not exist';
  await expect(write('/proc/guard/certs')).rejects.toMatchObject({ name: 'FileError', message });
});

test.each([
  ['file', 'it is not a directory'],
  ['file/certs', 'it is not a directory'],
  ['x'.repeat(300), 'name too long'],
])('explains why it cannot write to %s', async (name, reason) => {
  writeFileSync(fileOf('file'), '');
  const directory = path.resolve(root, name);
  const message = `cannot write to ${directory}: ${reason}`;
  await expect(write(directory)).rejects.toMatchObject({ name: 'FileError', message });
  expect(readdirSync(root)).toEqual(['file']);
});

test('after an error leaves neither a new file nor a key in another directory', async () => {
  writeFileSync(fileOf('ca.crt'), 'old');
  const files = ['ca.key', 'x'.repeat(300)].map((name) => ({ name, content: 'new', isPrivate: true }));
  await expect(writeOutputFiles(root, files)).rejects.toThrow('name too long');
  expect(readdirSync(root)).toEqual(['ca.crt']);
});

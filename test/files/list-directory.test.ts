import { rmSync, symlinkSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { listDirectory } from '../../src/files/list-directory.ts';
import { createTemporaryDirectory, writeFiles } from '../cli/temporary-directory.ts';

test('lists a directory or all below it by path, follows no link, and has limits', async () => {
  const directory = createTemporaryDirectory();
  // opendir() with `recursive` omits some of so many in Node.js 20.
  const names = Array.from({ length: 40 }, (_, index) => `b/c/${index + 10}`);
  writeFiles(directory, Object.fromEntries(['a', ...names].map((name) => [name, ''])));
  symlinkSync('/', join(directory, 'link'));
  const list = async (maxEntries: number, isRecursive: boolean, signal = new AbortController().signal) => {
    const entries = await listDirectory(directory, maxEntries, signal, isRecursive);
    return entries.map(({ parentPath, name }) => relative(directory, join(parentPath, name)));
  };
  expect(await list(3, false)).toEqual(['a', 'b', 'link']);
  expect(await list(44, true)).toEqual(['a', 'b', 'b/c', ...names, 'link']);
  await expect(list(43, true)).rejects.toThrow(`${directory} has more than 43 files; choose another directory`);
  await expect(list(6, true, AbortSignal.abort(new Error('stopped')))).rejects.toThrow('stopped');
  const missing = listDirectory(join(directory, 'c'), 6, new AbortController().signal);
  await expect(missing).rejects.toThrow(`cannot read ${directory}/c: it does not exist`);
});

test('names the directory that cannot be read, and not the one that contains it', async () => {
  const directory = createTemporaryDirectory();
  writeFiles(directory, { 'b/c': '' });
  // Somebody deletes it after its name was read.
  let isOpen = false;
  const throwIfAborted = () => {
    if (isOpen) rmSync(join(directory, 'b'), { recursive: true, force: true });
    isOpen = true;
  };
  const listing = listDirectory(directory, 6, { throwIfAborted } as AbortSignal, true);
  await expect(listing).rejects.toThrow(`cannot read ${directory}/b: it does not exist`);
});

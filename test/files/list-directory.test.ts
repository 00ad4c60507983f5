import { symlinkSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { listDirectory } from '../../src/files/list-directory.ts';
import { createTemporaryDirectory, writeFiles } from '../cli/temporary-directory.ts';

test('lists all of a large subdirectory', async () => {
  const directory = createTemporaryDirectory();
  writeFiles(directory, Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`a/${index}`, ''])));
  expect(await listDirectory(directory, 101, new AbortController().signal, true)).toHaveLength(101);
});

test('lists a directory or all below it by path, follows no link, and has limits', async () => {
  const directory = createTemporaryDirectory();
  writeFiles(directory, { 'b/2': '', 'b/1/3': '', a: '' });
  symlinkSync('/', join(directory, 'link'));
  const list = async (maxEntries: number, isRecursive: boolean, signal = new AbortController().signal) => {
    const entries = await listDirectory(directory, maxEntries, signal, isRecursive);
    return entries.map(({ parentPath, name }) => relative(directory, join(parentPath, name)));
  };
  expect(await list(3, false)).toEqual(['a', 'b', 'link']);
  expect(await list(6, true)).toEqual(['a', 'b', 'b/1', 'b/1/3', 'b/2', 'link']);
  await expect(list(5, true)).rejects.toThrow(`${directory} has more than 5 files; choose another directory`);
  await expect(list(6, true, AbortSignal.abort(new Error('stopped')))).rejects.toThrow('stopped');
  const missing = listDirectory(join(directory, 'c'), 6, new AbortController().signal);
  await expect(missing).rejects.toThrow(`cannot read ${directory}/c: it does not exist`);
});

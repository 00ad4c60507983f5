import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { type WalkLimits, walkDirectory } from '../../src/files/list-directory.ts';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'mcg-walk-'));
});

afterEach(() => rm(directory, { recursive: true }));

async function write(...names: readonly string[]): Promise<void> {
  for (const name of names) {
    await mkdir(dirname(join(directory, name)), { recursive: true });
    await writeFile(join(directory, name), '');
  }
}

async function walk(limits: Partial<WalkLimits> = {}, signal = new AbortController().signal) {
  const files: string[] = [];
  const all = { maxDepth: 2, maxEntries: 10, ...limits };
  for await (const file of walkDirectory(directory, all, signal)) files.push(relative(directory, file));
  return files;
}

test('finds regular files in the order of their names, and follows no link', async () => {
  await write('b/2', 'b/1', 'a', 'c/d/e');
  await symlink('/', join(directory, 'link'));
  await symlink(join(directory, 'a'), join(directory, 'file-link'));
  execFileSync('mkfifo', [join(directory, 'fifo')]);
  expect(await walk()).toEqual(['a', 'b/1', 'b/2', 'c/d/e']);
});

test('skips directories below the maximum depth', async () => {
  await write('1/2/3/4', '1/2/a');
  expect(await walk()).toEqual(['1/2/a']);
});

test.each([
  [4, ['a/1', 'a/2', 'a/3']],
  [3, undefined],
])('with at most %i entries finds %j', async (maxEntries, files) => {
  await write('a/1', 'a/2', 'a/3');
  if (files === undefined)
    await expect(walk({ maxEntries })).rejects.toThrow(`${directory} has more than 3 files; choose another directory`);
  else expect(await walk({ maxEntries })).toEqual(files);
});

test('rejects a missing directory, and ends with the reason of the signal', async () => {
  await expect(walk({}, AbortSignal.abort(new Error('stopped')))).rejects.toThrow('stopped');
  await rm(directory, { recursive: true });
  await expect(walk()).rejects.toThrow(`cannot read ${directory}: it does not exist`);
  await mkdir(directory);
});

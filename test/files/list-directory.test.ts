import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join, relative } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { type WalkLimits, walkDirectory } from '../../src/files/list-directory.ts';
import { createTemporaryDirectory, writeFiles } from '../cli/temporary-directory.ts';

let directory: string;

beforeEach(() => {
  directory = createTemporaryDirectory();
});

function write(...names: readonly string[]) {
  writeFiles(directory, Object.fromEntries(names.map((name) => [name, ''])));
}

async function walk(limits: Partial<WalkLimits> = {}, signal = new AbortController().signal) {
  const all = { maxDepth: 2, maxEntries: 10, ...limits };
  const files: string[] = [];
  for await (const file of walkDirectory(directory, all, signal)) files.push(relative(directory, file));
  return files;
}

test('finds regular files in the order of their names, none below the maximum depth, and follows no link', async () => {
  write('b/2', 'b/1', 'a', 'c/d/e', 'c/d/below/the/maximum');
  symlinkSync('/', join(directory, 'link'));
  symlinkSync(join(directory, 'a'), join(directory, 'file-link'));
  execFileSync('mkfifo', [join(directory, 'fifo')]);
  expect(await walk({ maxEntries: 20 })).toEqual(['a', 'b/1', 'b/2', 'c/d/e']);
});

test('rejects more entries than the maximum', async () => {
  write('a/1', 'a/2', 'a/3');
  expect(await walk({ maxEntries: 4 })).toEqual(['a/1', 'a/2', 'a/3']);
  const message = `${directory} has more than 3 files; choose another directory`;
  await expect(walk({ maxEntries: 3 })).rejects.toThrow(message);
});

test('rejects a missing directory, and ends with the reason of the signal', async () => {
  await expect(walk({}, AbortSignal.abort(new Error('stopped')))).rejects.toThrow('stopped');
  rmSync(directory, { recursive: true });
  await expect(walk()).rejects.toThrow(`cannot read ${directory}: it does not exist`);
  mkdirSync(directory);
});

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { createRelease } from '../../../build/release/release.ts';
import { runTool } from '../../../build/release/run-tool.ts';
import { readTimestamp } from '../../../build/release/timestamp.ts';

test('changes nothing in a directory with files', async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'mcg-release-'));
  await writeFile(path.join(directory, 'file'), '');
  const options = {
    directory,
    baseImage: undefined,
    platforms: [],
    repository: 'example.com/guard',
    timestamp: 0,
  };
  await expect(createRelease(options)).rejects.toThrow(`${directory} is not empty; remove it`);
  await rm(directory, { recursive: true });
});

test('names the package of a missing program', async () => {
  const missing = 'missing is not installed (Debian: apt-get install missing)';
  await expect(runTool('missing', [])).rejects.toThrow(missing);
});

test('the time is SOURCE_DATE_EPOCH', async () => {
  expect(await readTimestamp({ SOURCE_DATE_EPOCH: '1700000000' })).toBe(1_700_000_000);
  const invalid = readTimestamp({ SOURCE_DATE_EPOCH: 'today' });
  await expect(invalid).rejects.toThrow('SOURCE_DATE_EPOCH is not a number of seconds: "today"');
});

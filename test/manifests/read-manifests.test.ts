import { readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readManifests } from '../../src/manifests/read-manifests.ts';
import { createTemporaryDirectory, writeFiles } from '../cli/temporary-directory.ts';

let directory: string;

beforeEach(() => {
  directory = createTemporaryDirectory();
});

function write(...files: readonly string[]): void {
  const getText = (file: string): string => (file.startsWith('kind:') ? 'kind: Namespace\n' : `# ${file}\n`);
  writeFiles(directory, Object.fromEntries(files.map((file) => [file, getText(file)])));
}

const { signal } = new AbortController();

async function read(): Promise<string[]> {
  const { files } = await readManifests(directory, signal);
  for (const { path: file, content } of files) if (content) expect(content.toString()).toBe(`# ${file}\n`);
  return files.map(({ path: file, ignored }) => (ignored === undefined ? file : `${file}=${ignored}`));
}

/** The files of a directory, and those that are read. After `=`: why no cluster gets a file. */
const CASES = parse(readFileSync(new URL('read-manifests.yaml', import.meta.url), 'utf8')) as readonly {
  readonly what: string;
  readonly files: string;
  readonly expected: string;
}[];

test.each(CASES)('reads $what', async ({ files, expected }) => {
  write(...files.split(' '));
  expect(await read()).toEqual(expected.split(' '));
});

test('follows symbolic links to files', async () => {
  write('openshift/b.yaml');
  writeFiles(directory, { 'below/a.yaml': '# openshift/a.yaml\n' });
  symlinkSync('../below/a.yaml', path.join(directory, 'openshift/a.yaml'));
  expect(await read()).toEqual(['openshift/a.yaml', 'openshift/b.yaml']);
});

const NINE = Array.from('012345678', (digit) => `${digit}.json`);

function writeSparse(bytes: number, ...names: readonly string[]): void {
  write(...names);
  for (const name of names) truncateSync(path.join(directory, name), bytes);
}

function writeMany(): void {
  for (let index = 0; index <= 5_000; index += 1) writeFileSync(path.join(directory, `${index}`), '');
}

test.each([
  ['a link to a device', () => symlinkSync('/dev/zero', path.join(directory, 'a.yaml')), /not a regular file$/],
  ['openshift as a file', () => write('openshift'), /not a directory$/],
  ['a device instead of a directory', () => void (directory = '/dev/zero'), /not a regular file$/],
  ['no directory', () => void (directory += '/none'), /does not exist$/],
  ['a file of 1 GB', () => writeSparse(1024 ** 3, 'a.yaml'), /a\.yaml has more than 4 MiB$/],
  ['too many bytes', () => writeSparse(4 * 1024 ** 2, ...NINE), /has more than 33554432 bytes$/],
  ['too many files', writeMany, /has more than 5000 files/],
])('rejects %s', async (_what, prepare, message) => {
  prepare();
  await expect(readManifests(directory, signal)).rejects.toThrow(message);
});

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { parseOptions, UsageError } from '../../../build/release/options.ts';
import { createRelease } from '../../../build/release/release.ts';
import { runTool } from '../../../build/release/run-tool.ts';
import { readTimestamp } from '../../../build/release/timestamp.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { createTemporaryDirectory } from '../../cli/temporary-directory.ts';

const { version } = packageJson;

test.each([
  [[], '--version is required, such as --version 1.2.3'],
  [['--version', '98.7.6'], `package.json has the version ${version}, not 98.7.6; run "npm version 98.7.6 `],
  [['--version', version, '--repository', 'ghcr.io/Guard'], '--repository "ghcr.io/Guard" is not a repository'],
  [['--platfrom', 'linux/amd64'], "Unknown option '--platfrom'"],
])('rejects %j', (args, message) => {
  expect(() => parseOptions(args)).toThrow(UsageError);
  expect(() => parseOptions(args)).toThrow(message);
});

test('changes nothing in a directory with files', async () => {
  const directory = createTemporaryDirectory();
  writeFileSync(path.join(directory, 'file'), '');
  const options = { directory, baseImage: undefined, platforms: [], repository: 'example.com/guard', timestamp: 0 };
  await expect(createRelease(options)).rejects.toThrow(`${directory} is not empty; remove it`);
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

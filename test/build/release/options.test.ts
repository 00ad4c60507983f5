import path from 'node:path';
import { expect, test } from 'vitest';
import { parseOptions, UsageError } from '../../../build/release/options.ts';
import packageJson from '../../../package.json' with { type: 'json' };

const { version } = packageJson;

test('builds the image for two platforms into dist/release by default', () => {
  expect(parseOptions(['--version', version])).toEqual({
    directory: path.resolve('dist/release'),
    baseImage: undefined,
    platforms: ['linux/amd64', 'linux/arm64'],
    repository: 'ghcr.io/machineconfig-guard/machineconfig-guard',
  });
});

test.each([
  [[], '--version is required, such as --version 1.2.3'],
  [['--version', '98.7.6'], `package.json has the version ${version}, not 98.7.6; run "npm version 98.7.6 `],
  [['--version', version, '--repository', 'ghcr.io/Guard'], '--repository "ghcr.io/Guard" is not a repository'],
  [['--platfrom', 'linux/amd64'], "Unknown option '--platfrom'"],
])('rejects %j', (args, message) => {
  expect(() => parseOptions(args)).toThrow(UsageError);
  expect(() => parseOptions(args)).toThrow(message);
});

import path from 'node:path';
import { parseArgs } from 'node:util';
import packageJson from '../../package.json' with { type: 'json' };
import { checkImage } from '../../src/install/image.ts';
import type { ReleaseOptions } from './release.ts';

const IMAGE_REPOSITORY = 'ghcr.io/machineconfig-guard/machineconfig-guard';
const PLATFORMS = 'linux/amd64,linux/arm64';

export const HELP = `Builds everything that a release publishes.

Usage: npm run release -- --version X.Y.Z [--base-image IMAGE] [--out DIR]

Options:
  --base-image IMAGE  base of the image: a reference, or a transport of buildah such as oci:DIR
                      (default: BASE_IMAGE of the Containerfile)
  --help              print this text
  --out DIR           directory for the files; must be new or empty (default: dist/release)
  --platform LIST     platforms of the image (default: ${PLATFORMS})
  --repository NAME   repository that the image is pushed to
                      (default: ${IMAGE_REPOSITORY})
  --version X.Y.Z     version of package.json, to be sure which one is built

The same commit gives the same files: their time is SOURCE_DATE_EPOCH, or else that of the commit.
Needs buildah, GNU tar and npm's registry.
Exits with 1 if something cannot be built, and with 2 on wrong usage.
Example: npm run release -- --version ${packageJson.version}
`;

export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/**
 * Parses the arguments of `npm run release`.
 * @returns undefined for `--help`
 * @throws UsageError with a sentence
 */
export function parseOptions(args: readonly string[]): Omit<ReleaseOptions, 'timestamp'> | undefined {
  const { help, out, platform, repository, version, 'base-image': baseImage } = parseFlags(args);
  if (help) return undefined;
  if (version === undefined) throw new UsageError('--version is required, such as --version 1.2.3');
  if (version !== packageJson.version) {
    const advice = `run "npm version ${version} --no-git-tag-version && npm run version" to change it`;
    throw new UsageError(`package.json has the version ${packageJson.version}, not ${version}; ${advice}`);
  }
  if (!checkImage(`${repository}@sha256:${'0'.repeat(64)}`).valid) {
    throw new UsageError(`--repository ${JSON.stringify(repository)} is not a repository, such as ${IMAGE_REPOSITORY}`);
  }
  return { directory: path.resolve(out), baseImage, platforms: platform.split(','), repository };
}

function parseFlags(args: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        'base-image': { type: 'string' },
        help: { type: 'boolean', default: false },
        out: { type: 'string', default: path.join('dist', 'release') },
        platform: { type: 'string', default: PLATFORMS },
        repository: { type: 'string', default: IMAGE_REPOSITORY },
        version: { type: 'string' },
      },
    });
    return values;
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error });
  }
}

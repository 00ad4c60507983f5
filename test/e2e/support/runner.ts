import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { describeUsageError, UsageError } from '../../support/usage.ts';
import { availableReleases, findBinaries, NoControlPlane, type Binaries } from '../control-plane/binaries.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** What a command says beside its results, which go to standard output. */
export function log(line: string): void {
  process.stderr.write(`${line}\n`);
}

/**
 * The binaries of this release of Kubernetes, by default the newest that there is, and the bundle in dist/, built of the sources as they
 * are: what is measured and tried is what runs in a cluster. Throws {@link UsageError} where there is no such release.
 */
export async function prepareRun(kubernetes?: string): Promise<Binaries> {
  const releases = await availableReleases();
  const release = releases.find((one) => kubernetes === undefined || one.kubernetes === kubernetes);
  if (release === undefined) {
    const known = releases.map((one) => one.kubernetes).join(' or ');
    throw new UsageError(`--kubernetes ${kubernetes} is not available here: it can be ${known}.`);
  }
  const binaries = await findBinaries(release, log);
  await promisify(execFile)('npm', ['run', '--silent', 'build'], { cwd: ROOT });
  return binaries;
}

/** Ends the process with what `main` returns; with 2 after wrong usage, with 1 where no control plane is to be had, each said in one line. */
export async function runCommand(name: string, main: () => Promise<number>): Promise<void> {
  try {
    process.exitCode = await main();
  } catch (error) {
    const usage = describeUsageError(error);
    if (usage !== undefined) {
      log(`${usage} See: npm run ${name} -- --help`);
      process.exitCode = 2;
    } else if (error instanceof NoControlPlane) {
      log(error.message);
      process.exitCode = 1;
    } else {
      throw error;
    }
  }
}

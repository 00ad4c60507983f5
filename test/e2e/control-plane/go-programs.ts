import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { cachePath, fillCache } from './cache.ts';
import { goBuild, requireGo } from './go-build.ts';
import { readPins, writeKubernetesModule } from './kubernetes-module.ts';
import type { Release } from './releases.ts';

export type Log = (line: string) => void;

/** A program, and its package among the modules of Kubernetes. */
export interface Program {
  readonly name: string;
  readonly package: string;
}

/**
 * The folder with these programs of a release: from the cache, or built with Go in minutes.
 *
 * @param what the programs together, such as `control plane`
 * @param programs in build order
 * @throws MissingControlPlaneError if they must be built and Go cannot build them
 */
export async function findPrograms(what: string, release: Release, programs: readonly Program[], log: Log) {
  // The name changes with the modules, so that an outdated build is never used.
  const hash = createHash('sha256').update(JSON.stringify([await readPins(release), programs]));
  const name = `${release.kubernetes}-${hash.digest('hex').slice(0, 16)}`;
  const directory = cachePath(what.replace(' ', '-'), name);
  if (existsSync(directory)) return directory;
  const names = programs.map((program) => program.name).toSorted();
  await requireGo(
    `There is no ${what} of Kubernetes ${release.kubernetes} to run on`,
    `, or point KUBEBUILDER_ASSETS at a folder with ${names.join(', ')}`,
  );
  log(
    `Building the ${what} of Kubernetes ${release.kubernetes} from its Go modules, once: about 5 minutes on two cores.`,
  );
  await fillCache(directory, async (unfinished, reaper) => {
    const module = join(unfinished, 'module');
    await mkdir(module);
    await writeKubernetesModule(release, module);
    for (const [index, program] of programs.entries()) {
      log(`[${index + 1}/${programs.length}] ${program.name} …`);
      const output = join(unfinished, program.name);
      await goBuild({ module, package: program.package, output, ldflags: versionFlags(release), reaper });
    }
    await rm(module, { recursive: true });
  });
  log(`Built: ${directory}`);
  return directory;
}

/** Without these an API server calls itself v0.0.0-master, and clients take it for a very old one. */
function versionFlags({ kubernetes }: Release) {
  const [major, minor] = kubernetes.split('.');
  // Kubernetes 1.27 answers /version with that of client-go.
  const packages = ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'];
  const values = [`gitVersion=v${kubernetes}`, `gitMajor=${major}`, `gitMinor=${minor}`];
  const flags = packages.flatMap((name) => values.map((value) => `-X ${name}.${value}`));
  return ['-s -w', ...flags].join(' ');
}

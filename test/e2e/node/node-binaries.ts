import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { versionFlags } from '../control-plane/binaries.ts';
import { cachePath, fillCache } from '../control-plane/cache.ts';
import { goBuild, hasGo } from '../control-plane/go-build.ts';
import { MissingControlPlaneError } from '../control-plane/missing-control-plane-error.ts';
import type { Release } from '../control-plane/releases.ts';
import { nodeModuleDirectory } from './requirements.ts';

const COMPONENTS = ['kubelet', 'kube-proxy', 'kube-scheduler'];
/** The process of a pod's sandbox. */
const PAUSE = fileURLToPath(new URL('pause', import.meta.url));

/**
 * The folder with `kubelet`, `kube-proxy`, `kube-scheduler` and `pause` of a release: from the cache, or built with Go.
 * Their modules are pinned apart from those of the control plane, which most runs need alone.
 *
 * @throws MissingControlPlaneError if they must be built and Go is missing
 */
export async function findNodeBinaries(release: Release, log: (line: string) => void): Promise<string> {
  const module = nodeModuleDirectory(release);
  const hash = createHash('sha256');
  for (const file of [join(module, 'go.mod'), join(module, 'go.sum'), join(PAUSE, 'main.go')]) {
    hash.update(readFileSync(file));
  }
  const directory = cachePath('node', `${release.kubernetes}-${hash.digest('hex').slice(0, 16)}`);
  if (existsSync(directory)) return directory;
  if (!(await hasGo())) {
    throw new MissingControlPlaneError('A node is built with Go: install it (https://go.dev/dl).');
  }
  log(`Building a node of Kubernetes ${release.kubernetes} from its Go modules, once: minutes on two cores.`);
  await fillCache(directory, async (unfinished, reaper) => {
    const build = (name: string, from: string, what: string, ldflags: string) =>
      goBuild({ module: from, package: what, output: join(unfinished, name), ldflags, reaper });
    await build('pause', PAUSE, '.', '-s -w');
    for (const [index, name] of COMPONENTS.entries()) {
      log(`[${index + 1}/${COMPONENTS.length}] ${name} …`);
      await build(name, module, `k8s.io/kubernetes/cmd/${name}`, versionFlags(release));
    }
  });
  return directory;
}

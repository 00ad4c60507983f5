import { createHash } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cachePath } from '../control-plane/cache.ts';
import { findGoPrograms, type Log } from '../control-plane/go-build.ts';
import { copyModule } from '../control-plane/module-files.ts';
import { selectVersion } from '../control-plane/releases.ts';
import { runOk } from '../support/process.ts';

/** A release of the Machine Config Operator that builds from public Go modules. */
interface OperatorRelease {
  readonly openshift: string;
  /** A commit of the release's development. The module proxy lacks the dependencies of most others. */
  readonly version: string;
  /** Changes of its go.mod, as flags of `go mod edit`. */
  readonly edits: readonly string[];
}

/** The one of the OpenShift release whose Kubernetes the newest control plane is. CI runs only this one. */
const NEWEST = '4.20';
const RELEASES: Readonly<Record<string, OperatorRelease>> = {
  [NEWEST]: {
    openshift: NEWEST,
    version: 'v0.0.1-0.20250724162154-ab14c8e2843b',
    // The proxy has these dependencies only at other commits.
    edits: [
      '-replace=github.com/openshift/api=github.com/openshift/api@v0.0.0-20250710004639-926605d3338b',
      '-replace=github.com/openshift/client-go=github.com/openshift/client-go@v0.0.0-20250425165505-5f55ff6979a1',
      '-replace=k8s.io/code-generator=k8s.io/code-generator@v0.32.1',
    ],
  },
  '4.19': { openshift: '4.19', version: 'v0.0.1-0.20250401081735-9026ff2d802e', edits: [] },
  '4.15': { openshift: '4.15', version: 'v0.0.1-0.20231024085435-7e1fb719c1ba', edits: [] },
};

/** `test/e2e/run.ts` names the release of a test run in this variable. */
export const OPERATOR_VARIABLE = 'MCG_E2E_OPERATOR';

/** The release with this version, or the one that CI runs. */
export function selectOperator(flag: string, version = NEWEST): OperatorRelease {
  return selectVersion(flag, version, RELEASES);
}

const MODULE = 'github.com/openshift/machine-config-operator';
const PROGRAMS = ['machine-config-controller', 'machine-config-server'];
/** Read by the programs when they run. */
const FOLDERS = ['templates', 'manifests'];
const FLAGS = ['-mod=mod', '-tags=containers_image_openpgp'];
/** The folder of the token within the working directory of the machine-config-server. */
export const TOKEN_FOLDER = 'bootstrap-token';
/**
 * The server reads the token for its answers from a fixed path. The build makes it relative to the working directory.
 * A mount at the fixed path would need root, or user namespaces, which many machines forbid.
 */
const PATCH = {
  file: 'pkg/server/cluster_server.go',
  from: '"/etc/mcs/bootstrap-token"',
  to: `"${TOKEN_FOLDER}"`,
};

/**
 * The folder with `machine-config-controller`, `machine-config-server`, `templates` and `manifests` of a release: from
 * the cache, or built with Go. The version of the module and its checksum pin the source. Its own go.sum and Go's
 * checksum database pin the dependencies.
 * @throws MissingControlPlaneError if they must be built and Go cannot build them
 */
export async function findOperator(release: OperatorRelease, log: Log): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify([release, PROGRAMS, FOLDERS, FLAGS, PATCH]));
  return findGoPrograms({
    directory: cachePath('operator', `${release.openshift}-${hash.digest('hex').slice(0, 16)}`),
    what: `Machine Config Operator ${release.openshift}`,
    programs: PROGRAMS.map((name) => ({ name, package: `./cmd/${name}` })),
    prepare: (module) => copySource(release, module),
    folders: FOLDERS,
    flags: FLAGS,
    log,
  });
}

async function copySource({ version, edits }: OperatorRelease, directory: string) {
  await copyModule(`${MODULE}@${version}`, directory);
  // Go removes most of it from a module.
  await rm(join(directory, 'vendor'), { recursive: true });
  if (edits.length > 0) await runOk('go', ['mod', 'edit', ...edits], { cwd: directory });
  const file = join(directory, PATCH.file);
  const text = await readFile(file, 'utf8');
  if (!text.includes(PATCH.from)) throw new Error(`${file} of ${version} does not contain ${PATCH.from}`);
  await writeFile(file, text.replace(PATCH.from, PATCH.to));
}

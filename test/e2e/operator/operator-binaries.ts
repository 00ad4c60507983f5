import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { cachePath } from '../control-plane/cache.ts';
import { findGoPrograms, type Log } from '../control-plane/go-build.ts';
import { copyModule } from '../control-plane/module-files.ts';
import { selectVersion } from '../control-plane/releases.ts';
import { runOk } from '../support/process.ts';

/** A release of the Machine Config Operator that builds from public Go modules. */
export interface OperatorRelease {
  readonly openshift: string;
  /** A commit of the release's development. The module proxy lacks the dependencies of most others. */
  readonly version: string;
  /** Changes of its go.mod, as flags of `go mod edit`. */
  readonly moduleEdits: readonly string[];
  /** What the tests change in its programs: mostly they shorten waits. */
  readonly edits: readonly Edit[];
}

/** A text of a source file, and what the tests replace it with. */
interface Edit {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** What the tests take from the module of a release, and what they change in it before. */
interface Selection {
  readonly programs: readonly string[];
  /** Read by the programs when they run. */
  readonly folders?: readonly string[];
  readonly edits?: readonly Edit[];
  /** Texts of new files by their paths in the module. */
  readonly files?: Readonly<Record<string, string>>;
}

const DAEMON = 'pkg/daemon/daemon.go';
/** 1 s instead of 60 s before the daemon looks at changes of its node for the second time. */
const FIRST_SYNC_WAIT = {
  file: DAEMON,
  from: '10*time.Second, 1*time.Minute, false',
  to: '1*time.Second, 1*time.Second, false',
};
/**
 * 1 s instead of 10 s between two looks whether the controller has drained or uncordoned the node, and at most 5 s
 * instead of 60 s before a retry.
 */
const COMMON_WAITS = [
  { file: 'pkg/daemon/drain.go', from: 'ctx, 10*time.Second, 1*time.Hour', to: 'ctx, 1*time.Second, 1*time.Hour' },
  { file: DAEMON, from: 'ctx, 10*time.Second, 10*time.Minute', to: 'ctx, 1*time.Second, 10*time.Minute' },
  { file: DAEMON, from: 'maxUpdateBackoff = 60 *', to: 'maxUpdateBackoff = 5 *' },
];
/** 1 s instead of 5 s before the machine-os-builder looks at a change, and between its 5 tries. */
const BUILDER_WAIT = {
  file: 'pkg/controller/build/osbuildcontroller.go',
  from: 'time.Second * 5,',
  to: 'time.Second,',
};
/** The builder would delete this folder of the machine on which the tests run. The build makes it relative. */
const CERTIFICATE_FOLDER = {
  file: 'pkg/controller/build/reconciler.go',
  from: '"/etc/docker/certs.d"',
  to: '"certs.d"',
};

/** The one of the OpenShift release whose Kubernetes the newest control plane is. CI runs only this one. */
const NEWEST = '4.20';
const RELEASES: Readonly<Record<string, OperatorRelease>> = {
  [NEWEST]: {
    openshift: NEWEST,
    version: 'v0.0.1-0.20250724162154-ab14c8e2843b',
    // The proxy has these dependencies only at other commits.
    edits: [FIRST_SYNC_WAIT, ...COMMON_WAITS, BUILDER_WAIT, CERTIFICATE_FOLDER],
    moduleEdits: [
      '-replace=github.com/openshift/api=github.com/openshift/api@v0.0.0-20250710004639-926605d3338b',
      '-replace=github.com/openshift/client-go=github.com/openshift/client-go@v0.0.0-20250425165505-5f55ff6979a1',
      '-replace=k8s.io/code-generator=k8s.io/code-generator@v0.32.1',
    ],
  },
  '4.19': {
    openshift: '4.19',
    version: 'v0.0.1-0.20250401081735-9026ff2d802e',
    edits: [FIRST_SYNC_WAIT, ...COMMON_WAITS, BUILDER_WAIT],
    moduleEdits: [],
  },
  '4.15': {
    openshift: '4.15',
    version: 'v0.0.1-0.20231024085435-7e1fb719c1ba',
    edits: COMMON_WAITS,
    moduleEdits: [],
  },
};

/** `test/e2e/run.ts` names the release of a test run in this variable. */
export const OPERATOR_VARIABLE = 'MCG_E2E_OPERATOR';

/** The release with this version, or the one that CI runs. */
export function selectOperator(flag: string, version = NEWEST): OperatorRelease {
  return selectVersion(flag, version, RELEASES);
}

const MODULE = 'github.com/openshift/machine-config-operator';
const PROGRAMS = ['machine-config-controller', 'machine-config-server', 'machine-config-daemon', 'machine-os-builder'];
/** Read by the programs when they run. */
const FOLDERS = ['templates', 'manifests'];
const FLAGS = ['-mod=mod', '-tags=containers_image_openpgp'];
/** The folder of the token within the working directory of the machine-config-server. */
export const TOKEN_FOLDER = 'bootstrap-token';
/**
 * The server reads the token for its answers from a fixed path. The build makes it relative to the working directory.
 * A mount at the fixed path would need root, or user namespaces, which many machines forbid.
 */
const TOKEN_PATH = {
  file: 'pkg/server/cluster_server.go',
  from: '"/etc/mcs/bootstrap-token"',
  to: `"${TOKEN_FOLDER}"`,
};

/** The loop translates equal templates once. */
const TRANSPILE = {
  file: 'pkg/controller/template/render.go',
  from: 'ctrlcommon.TranspileCoreOSConfigToIgn(',
  to: 'transpile(',
};

/**
 * The folder with `machine-config-controller`, `machine-config-server`, `machine-config-daemon`, `machine-os-builder`,
 * `templates` and `manifests` of a release: from the cache, or built with Go. Waits of daemon and builder are short.
 * @throws MissingControlPlaneError if they must be built and Go cannot build them
 */
export async function findOperator(release: OperatorRelease, log: Log): Promise<string> {
  const edits = [TOKEN_PATH, ...release.edits];
  return findPrograms(release, { programs: PROGRAMS, folders: FOLDERS, edits }, log);
}

/**
 * The `machine-config-daemon` of a release as it is published, with its long waits.
 * @throws MissingControlPlaneError if it must be built and Go cannot build it
 */
export async function findUnchangedDaemon(release: OperatorRelease, log: Log): Promise<string> {
  const program = 'machine-config-daemon';
  return join(await findPrograms(release, { programs: [program] }, log), program);
}

/**
 * The program that runs `machine-config-controller bootstrap` of a release many times (bootstrap-loop/main.go).
 * @throws MissingControlPlaneError if it must be built and Go cannot build it
 */
export async function findBootstrapLoop(release: OperatorRelease, log: Log): Promise<string> {
  const program = 'bootstrap-loop';
  const read = (name: string): string => readFileSync(join(import.meta.dirname, program, name), 'utf8');
  const selection = {
    programs: [program],
    edits: [TRANSPILE],
    files: {
      [`cmd/${program}/main.go`]: read('main.go'),
      'pkg/controller/template/transpile.go': read('transpile.go'),
    },
  };
  return join(await findPrograms(release, selection, log), program);
}

/**
 * The version of the module and its checksum pin the source. Its own go.sum and Go's checksum database pin the
 * dependencies.
 */
async function findPrograms(release: OperatorRelease, selection: Selection, log: Log): Promise<string> {
  const { openshift, version, moduleEdits } = release;
  const { programs, folders = [], edits = [], files } = selection;
  const input = JSON.stringify([version, moduleEdits, programs, folders, FLAGS, edits, ...(files ? [files] : [])]);
  const hash = createHash('sha256').update(input).digest('hex').slice(0, 16);
  return findGoPrograms({
    directory: cachePath('operator', `${openshift}-${hash}`),
    what: `Machine Config Operator ${openshift}`,
    programs: programs.map((name) => ({ name, package: `./cmd/${name}` })),
    prepare: (module) => copySource(release, selection, module),
    folders,
    flags: FLAGS,
    log,
  });
}

/** @throws Error if an edit does not fit the source */
async function copySource(
  { version, moduleEdits }: OperatorRelease,
  { edits = [], files = {} }: Selection,
  directory: string,
) {
  await copyModule(`${MODULE}@${version}`, directory);
  // Go removes most of it from a module.
  await rm(join(directory, 'vendor'), { recursive: true });
  if (moduleEdits.length > 0) await runOk('go', ['mod', 'edit', ...moduleEdits], { cwd: directory });
  for (const { file, from, to } of edits) {
    const path = join(directory, file);
    const [before = '', ...rest] = (await readFile(path, 'utf8')).split(from);
    const [after] = rest;
    if (after === undefined || rest.length > 1) throw new Error(`${file} of ${version} does not contain ${from} once`);
    await writeFile(path, before + to + after);
  }
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(join(directory, file)), { recursive: true });
    await writeFile(join(directory, file), text);
  }
}

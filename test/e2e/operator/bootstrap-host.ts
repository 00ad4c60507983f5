import { copyFile, cp, mkdtemp, readdir, readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { parse, stringify } from 'yaml';
import { type ProgramResult, runProgram } from '../../../src/rendered-config/operator/run-program.ts';
import { writeFiles as write } from '../../cli/temporary-directory.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { Pool } from '../support/cluster.ts';
import type { BootstrapRun, RunBootstrap } from './bootstrap-loop.ts';
import type { IgnitionConfig } from './machines/ignition.ts';
import { startMachineConfigServer } from './machine-config-server.ts';
import { findOperatorObject, RELEASE_VERSION } from './operator-objects.ts';

/** For a busy machine. */
const TIMEOUT_MS = 300_000;

/** The clusters of the tests have it. */
export const DIGEST_MIRRORS = findOperatorObject('ImageDigestMirrorSet');
/** The clusters of the tests do not have it. */
export const TAG_MIRRORS = {
  apiVersion: 'config.openshift.io/v1',
  kind: 'ImageTagMirrorSet',
  metadata: { name: 'tools' },
  spec: { imageTagMirrors: [{ source: 'quay.io/lab/tools', mirrors: ['registry.example.com:5000/mirror'] }] },
};

export async function writeFiles(parent: string, contents: Readonly<Record<string, string>>): Promise<string> {
  const directory = await mkdtemp(join(parent, 'manifests-'));
  write(directory, contents);
  return directory;
}

/** Writes a new manifests directory as a person fills it for the installer, and returns its path. */
export async function writeManifests(
  parent: string,
  documentsByFile: Readonly<Record<string, readonly object[]>>,
): Promise<string> {
  const texts = Object.entries(documentsByFile).map(([file, documents]) => {
    return [file, documents.map((document) => stringify(document)).join('---\n')] as const;
  });
  return writeFiles(parent, Object.fromEntries(texts));
}

/**
 * Runs the real `machine-config-controller bootstrap` with a manifests directory and the manifests of the operator.
 * Returns a directory as `/etc/mcs/bootstrap` of the bootstrap host, and the sorted names of the rendered configs.
 * @param runBootstrap the program, or a loop that runs the same many times
 * @throws Error with the last line of the program if it fails
 */
export async function renderBootstrap(
  binaries: string,
  manifests: string,
  runBootstrap: RunBootstrap = (run) => runController(binaries, run),
) {
  const kinds = ['ControllerConfig', 'FeatureGate', 'Secret'];
  const files = kinds.map((kind) => [`${kind}.yaml`, [findOperatorObject(kind)]] as const);
  const input = await writeManifests(dirname(manifests), Object.fromEntries(files));
  await cp(manifests, input, { recursive: true });
  for (const file of ['master.machineconfigpool.yaml', 'worker.machineconfigpool.yaml'])
    await copyFile(join(binaries, 'manifests', file), join(input, file));
  const directory = join(input, 'rendered');
  const { exitCode, output } = await runBootstrap({
    manifests: input,
    output: directory,
    pullSecret: join(input, 'Secret.yaml'),
    templates: join(binaries, 'templates'),
    version: RELEASE_VERSION,
  });
  if (exitCode !== 0) throw new Error(`the bootstrap ended with ${exitCode}: ${output}`);
  const rendered = await readdir(join(directory, 'machine-configs'));
  const pool = parse(await readFile(join(directory, 'machine-pools', 'worker.yaml'), 'utf8')) as Pool;
  return {
    directory,
    names: rendered.map((file) => basename(file, '.yaml')).toSorted(),
    /** The names of the sources of all pools, those that the operator writes included. */
    sources: pool.spec.configuration?.source?.map(({ name }) => name) ?? [],
  };
}

function runController(
  binaries: string,
  { manifests, output, pullSecret, templates, version }: BootstrapRun,
): Promise<ProgramResult> {
  const args = [
    'bootstrap',
    `--manifest-dir=${manifests}`,
    `--dest-dir=${output}`,
    `--pull-secret=${pullSecret}`,
    `--templates=${templates}`,
  ];
  const { signal } = new AbortController();
  const options = { env: { RELEASE_VERSION: version }, timeoutMs: TIMEOUT_MS, signal };
  return runProgram(join(binaries, 'machine-config-controller'), args, options);
}

/**
 * Asks the real bootstrap server for the config of masters.
 * @param directory as of {@link renderBootstrap}
 * @param specVersion of Ignition, if not that of the other tests
 * @throws Error if it serves none
 */
export async function fetchBootstrapConfig(
  controlPlane: ControlPlane,
  binaries: string,
  directory: string,
  specVersion?: string,
): Promise<IgnitionConfig> {
  const kubeconfig = `--bootstrap-kubeconfig=${controlPlane.apiServer.kubeconfig}`;
  const args = ['bootstrap', `--server-basedir=${directory}`, kubeconfig];
  const server = await startMachineConfigServer(controlPlane, binaries, 'bootstrap-server', args);
  const config = await server.fetchConfig('master', specVersion);
  await server.stop();
  if (config === undefined) throw new Error('the bootstrap host serves no config');
  return config;
}

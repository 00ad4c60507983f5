import { randomUUID } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { NEVER_ABORTED } from '../../common/wait.ts';
import { ProgramError, type ProgramResult, runProgram } from './run-program.ts';
import { formatPath } from '../../files/file-error.ts';

/**
 * Renders the manifests in one directory into another one, which is empty, as a bootstrap host does.
 * @param version of the release, as the FeatureGate and the ControllerConfig name it
 */
export type Renderer = (input: string, output: string, version: string) => Promise<ProgramResult>;

/** In the first directory. */
export const PULL_SECRET_FILE = 'zz-machineconfig-guard-pull-secret.yaml';
const CONTROLLER = 'machine-config-controller';

/**
 * Finds the operator of a release.
 * @param source an image, or the path of the program or its directory, with `templates/` beside it
 * @param authfile credentials for the image
 * @throws ProgramError if it is not there or cannot be pulled; the signal's reason
 */
export async function findRenderer(
  source: string,
  authfile: string | undefined,
  signal: AbortSignal,
): Promise<Renderer> {
  if (!/^\.{0,2}\//.test(source) && !existsSync(source)) return await findImage(source, authfile, signal);
  if (!existsSync(source)) {
    const needed = `give an image, or the path of ${CONTROLLER} with its templates/ beside it`;
    throw new ProgramError(`${formatPath(source)} does not exist; ${needed}`);
  }
  const isDirectory = statSync(source).isDirectory();
  const program = path.resolve(isDirectory ? path.join(source, CONTROLLER) : source);
  const templates = path.join(path.dirname(program), 'templates');
  if (!existsSync(templates)) {
    throw new ProgramError(`${formatPath(templates)} does not exist; copy it from the repository of the operator`);
  }
  return async (input, output, version) => {
    const args = [...createArguments(input, output), `--templates=${templates}`];
    return await runProgram(program, args, { env: { RELEASE_VERSION: version }, signal });
  };
}

/**
 * Finds the image of the operator of a release.
 * @throws ProgramError without oc, or if it fails; the signal's reason
 */
export async function findOperatorImage(release: string, authfile: string | undefined, signal: AbortSignal) {
  const args = ['adm', 'release', 'info', '--image-for=machine-config-operator', release];
  const auth = authfile === undefined ? [] : [`--registry-config=${authfile}`];
  try {
    const result = await runProgram('oc', [...args, ...auth], { signal });
    // A warning follows on stderr.
    if (result.exitCode === 0) return result.output.split('\n', 1)[0] ?? '';
    throw new ProgramError(`oc failed: ${getLastLine(result)}`);
  } catch (error) {
    if (!(error instanceof ProgramError)) throw error;
    throw new ProgramError(`${error.message}; give --operator what this prints elsewhere: oc ${args.join(' ')}`);
  }
}

function createArguments(input: string, output: string): string[] {
  return ['bootstrap', `--manifest-dir=${input}`, `--dest-dir=${output}`, `--pull-secret=${input}/${PULL_SECRET_FILE}`];
}

async function findImage(image: string, authfile: string | undefined, signal: AbortSignal): Promise<Renderer> {
  const engine = await findEngine(signal);
  const run = async (...args: readonly string[]): Promise<ProgramResult> => await runProgram(engine, args, { signal });
  const { exitCode } = await run('image', 'inspect', '--format={{.Id}}', image);
  if (exitCode !== 0) {
    const auth = authfile === undefined ? [] : [`--authfile=${authfile}`];
    const pull = await run('pull', '--quiet', ...auth, image);
    if (pull.exitCode !== 0) throw new ProgramError(`${engine} cannot pull ${image}: ${getLastLine(pull)}`);
  }
  // With docker, the files of root could not be deleted.
  const user = engine === 'podman' ? '0:0' : `${process.getuid?.()}:${process.getgid?.()}`;
  const limits = ['--rm', '--pull=never', '--network=none', '--read-only', '--cap-drop=all', `--user=${user}`];
  return async (input, output, version) => {
    const name = `machineconfig-guard-${randomUUID()}`;
    const volumes = [`--volume=${input}:/in:ro,Z`, `--volume=${output}:/out:Z`];
    const flags = [...limits, '--security-opt=no-new-privileges', `--name=${name}`, ...volumes];
    const entry = [`--env=RELEASE_VERSION=${version}`, `--entrypoint=/usr/bin/${CONTROLLER}`, image];
    try {
      return await run('run', ...flags, ...entry, ...createArguments('/in', '/out'));
    } catch (error) {
      // The container outlives a client that was killed.
      await runProgram(engine, ['rm', '--force', name], { signal: NEVER_ABORTED }).catch(() => undefined);
      throw error;
    }
  };
}

async function findEngine(signal: AbortSignal): Promise<string> {
  for (const engine of ['podman', 'docker']) {
    try {
      const { exitCode } = await runProgram(engine, ['--version'], { signal });
      if (exitCode === 0) return engine;
    } catch (error) {
      if (!(error instanceof ProgramError)) throw error;
    }
  }
  throw new ProgramError('an image needs podman or docker, and neither is there; install podman, or give a path');
}

function getLastLine({ output }: ProgramResult): string {
  return output.trim().split('\n').at(-1) ?? '';
}

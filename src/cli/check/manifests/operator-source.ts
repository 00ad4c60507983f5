import { randomUUID } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { formatPath } from '../../../files/file-error.ts';
import { ProgramError, type ProgramResult, runProgram } from '../../../client/run-program.ts';

/** Renders the manifests in one directory into another one, which is empty, as a bootstrap host does. */
export type Renderer = (input: string, output: string) => Promise<ProgramResult>;

/** The file with the pull secret, in the first directory. */
export const PULL_SECRET = 'zz-machineconfig-guard-0.json';
/** The FeatureGate is for this release, whatever the release of the operator is. */
export const RELEASE_VERSION = '0.0.0';
const CONTROLLER = 'machine-config-controller';
const ENGINES = ['podman', 'docker'];
const RENDER_TIMEOUT_MS = 120_000;
const PULL_TIMEOUT_MS = 600_000;

/**
 * Finds the operator of a release.
 *
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
  const isDirectory = statSync(source, { throwIfNoEntry: false })?.isDirectory() ?? false;
  const program = path.resolve(isDirectory ? path.join(source, CONTROLLER) : source);
  const templates = path.join(path.dirname(program), 'templates');
  if (!existsSync(templates))
    throw new ProgramError(`${formatPath(templates)} does not exist; copy it from the release`);
  return (input, output) => {
    const args = [...createArguments(input, output), `--templates=${templates}`];
    return runProgram(program, args, { env: { RELEASE_VERSION }, timeoutMs: RENDER_TIMEOUT_MS, signal });
  };
}

/**
 * Finds the image of the operator of a release.
 *
 * @throws ProgramError without oc, or if it fails; the signal's reason
 */
export async function findOperatorImage(
  release: string,
  authfile: string | undefined,
  signal: AbortSignal,
): Promise<string> {
  const args = ['adm', 'release', 'info', '--image-for=machine-config-operator', release];
  const auth = authfile === undefined ? [] : [`--registry-config=${authfile}`];
  const result = await runProgram('oc', [...args, ...auth], { timeoutMs: PULL_TIMEOUT_MS, signal }).catch(
    (error: unknown) => error as Error,
  );
  if (!(result instanceof Error) && result.exitCode === 0) return result.output.trim();
  signal.throwIfAborted();
  const reason = result instanceof Error ? result.message : lastLine(result);
  throw new ProgramError(`${reason}; give --operator the image that this prints elsewhere: oc ${args.join(' ')}`);
}

function lastLine({ output }: ProgramResult): string {
  return output.trim().split('\n').at(-1) ?? '';
}

function createArguments(input: string, output: string): string[] {
  return ['bootstrap', `--manifest-dir=${input}`, `--dest-dir=${output}`, `--pull-secret=${input}/${PULL_SECRET}`];
}

async function findImage(image: string, authfile: string | undefined, signal: AbortSignal): Promise<Renderer> {
  const engine = await findEngine(signal);
  const run = async (args: readonly string[], timeoutMs: number) =>
    await runProgram(engine, args, { timeoutMs, signal });
  const { exitCode } = await run(['image', 'inspect', '--format={{.Id}}', image], RENDER_TIMEOUT_MS);
  if (exitCode !== 0) {
    const auth = authfile === undefined ? [] : [`--authfile=${authfile}`];
    const pull = await run(['pull', '--quiet', ...auth, image], PULL_TIMEOUT_MS);
    if (pull.exitCode !== 0) throw new ProgramError(`${engine} cannot pull ${image}: ${lastLine(pull)}`);
  }
  // Files of docker would belong to root.
  const user = engine === 'podman' ? '0:0' : `${process.getuid?.()}:${process.getgid?.()}`;
  const limits = ['--rm', '--pull=never', '--network=none', '--read-only', '--cap-drop=all', `--user=${user}`];
  return async (input, output) => {
    const name = `machineconfig-guard-${randomUUID()}`;
    const volumes = [`--volume=${input}:/in:ro,Z`, `--volume=${output}:/out:Z`];
    const flags = [...limits, '--security-opt=no-new-privileges', `--name=${name}`, ...volumes];
    const entry = [`--env=RELEASE_VERSION=${RELEASE_VERSION}`, `--entrypoint=/usr/bin/${CONTROLLER}`, image];
    try {
      return await run(['run', ...flags, ...entry, ...createArguments('/in', '/out')], RENDER_TIMEOUT_MS);
    } catch (error) {
      // The container outlives a client that was killed.
      const options = { timeoutMs: RENDER_TIMEOUT_MS, signal: new AbortController().signal };
      await runProgram(engine, ['rm', '--force', name], options).catch(() => undefined);
      throw error;
    }
  };
}

async function findEngine(signal: AbortSignal): Promise<string> {
  for (const engine of ENGINES) {
    const version = await runProgram(engine, ['--version'], { timeoutMs: RENDER_TIMEOUT_MS, signal }).catch(
      (error: unknown) => {
        if (error instanceof ProgramError) return undefined;
        throw error;
      },
    );
    if (version?.exitCode === 0) return engine;
  }
  throw new ProgramError('an image needs podman or docker, and neither is there; install podman, or give a path');
}

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { toPrintableLine } from '../../common/printable-text.ts';
import { readRegularFile } from '../../files/read-file.ts';
import { parseYaml } from '../../files/yaml-document.ts';
import { listPoolSources, MAX_CONFIG_BYTES, readRenderedConfigs, type RenderedConfig } from '../rendered-config.ts';
import { type ClusterObjects, createBaseManifests, createPullSecret, getReleaseVersion } from './base-manifests.ts';
import { PULL_SECRET_FILE, type Renderer } from './renderer.ts';

/** What the operator renders from some files. */
export interface Render {
  readonly configs: readonly RenderedConfig[];
  /** The names of the source configs, those of the operator included. */
  readonly sources: readonly string[];
  /** Why it failed. Printable. */
  readonly error?: string;
}

/** Renders files by their names. Throws ProgramError, FileError or the signal's reason. */
export type RenderFiles = (files: ReadonlyMap<string, Buffer | string>) => Promise<Render>;

const VERSION_ERROR = /Ignoring controller config generated .*\(my version: ([^)\s]+)\)/;
const GATE_ERROR = /feature "?(\w+)"? is not registered/;
const LAST_ERROR = /(?:error running MCC\[BOOTSTRAP\]: |panic: )(.*?)(?:\n\s*\n|\ngoroutine |$)/s;

/**
 * Returns a function that renders files with what the directory says about the cluster. It learns from the errors of
 * the operator what its release must find besides them.
 */
export function createRender(renderer: Renderer, objects: ClusterObjects, signal: AbortSignal): RenderFiles {
  const release = getReleaseVersion(objects);
  let facts = { version: '', featureGates: [] as readonly string[] };
  return async (files) => {
    for (;;) {
      // Another render that runs at the same time can change the facts.
      const known = facts;
      const added = new Map([...createBaseManifests(known, objects), [PULL_SECRET_FILE, createPullSecret(objects)]]);
      const result = await render(new Map([...files, ...added]), renderer, release, signal);
      const { error = '' } = result;
      const [, version = known.version] = VERSION_ERROR.exec(error) ?? [];
      const gates = Array.from(GATE_ERROR.exec(error) ?? []).slice(1);
      if (version === known.version && gates.every((gate) => known.featureGates.includes(gate))) return result;
      facts = { version, featureGates: [...new Set([...facts.featureGates, ...gates])] };
    }
  };
}

async function render(
  files: ReadonlyMap<string, Buffer | string>,
  renderer: Renderer,
  release: string,
  signal: AbortSignal,
): Promise<Render> {
  const directory = await mkdtemp(path.join(tmpdir(), 'machineconfig-guard-'));
  const input = path.join(directory, 'in');
  const output = path.join(directory, 'out');
  try {
    for (const folder of [input, output]) await mkdir(folder);
    for (const [name, content] of files) await writeFile(path.join(input, name), content, { mode: 0o600 });
    const { exitCode, output: text } = await renderer(input, output, release);
    if (exitCode !== 0) {
      const [, error = text.trim().split('\n').at(-1) ?? ''] = LAST_ERROR.exec(text) ?? [];
      const plain = error.replaceAll(`${input}/`, '').replaceAll('/in/', '');
      return { configs: [], sources: [], error: toPrintableLine(plain) || `exit code ${exitCode}` };
    }
    const { configs } = await readRenderedConfigs(output, () => true, signal);
    const pool = await readRegularFile(path.join(output, 'machine-pools', 'master.yaml'), MAX_CONFIG_BYTES, signal);
    return { configs, sources: listPoolSources(parseYaml(pool.toString(), 'master.yaml').value) };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

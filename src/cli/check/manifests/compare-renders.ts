import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { toPrintableLine } from '../../../common/printable-text.ts';
import { parsePoolName } from '../../../decision/references.ts';
import { ProgramError } from '../../../client/run-program.ts';
import { readRegularFile } from '../../../files/read-file.ts';
import { parseYaml } from '../../../files/yaml-document.ts';
import {
  type ConfigPart,
  diffSpecs,
  listParts,
  type PartDifference,
  summarizePart,
} from '../../../rendered-config/config-parts.ts';
import {
  isRecord,
  listPoolSources,
  readRenderedConfigs,
  type RenderedConfig,
} from '../../../rendered-config/rendered-config.ts';
import { createBaseObjects } from './base-objects.ts';
import { isRenderInput } from './kinds.ts';
import { createProblem, type ManifestProblem } from './find-problems.ts';
import { type Manifest, type ManifestDirectory, type ManifestObject, ROLES } from './manifest-directory.ts';
import type { Renderer } from './operator-source.ts';

/** Part of the JSON of `check --manifests --operator`. */
export interface PoolRenders {
  readonly pool: string;
  /** The names of the rendered configs. */
  readonly bootstrap: string | null;
  readonly cluster: string | null;
  readonly isEqual: boolean;
  readonly differences: readonly RenderDifference[];
}

export interface RenderDifference extends Pick<PartDifference, 'kind' | 'name'> {
  /** A value or a digest. Null if the side does not have the part. */
  readonly bootstrap: string | null;
  readonly cluster: string | null;
  /** The manifests that set the part. */
  readonly setBy: readonly string[];
}

interface Base {
  version: string;
  readonly featureGates: string[];
}

interface Render {
  readonly configs: readonly RenderedConfig[];
  /** The names of the source configs, those of the operator included. */
  readonly sources: readonly string[];
  /** Why it failed. */
  readonly error: string | undefined;
}

const MAX_PARTS = 3;
const MAX_ATTEMPTS = 60;
const MAX_CONFIG_BYTES = 8 * 1024 ** 2;
const MAX_ERROR_LENGTH = 1_000;
/** What an operator says about its version and a feature gate that the base objects lack. */
const VERSION_ERROR = /Ignoring controller config generated .*\(my version: ([^)\s]+)\)/;
const GATE_ERROR = /feature "?(\w+)"? is not registered/;
const LAST_ERROR = /(?:error running MCC\[BOOTSTRAP\]: |panic: )(.*?)(?:\n\s*\n|\ngoroutine |$)/s;

/**
 * Renders what the bootstrap host reads of the manifests, and what the cluster gets of them.
 *
 * @throws ProgramError if the operator cannot render even without manifests; FileError; the signal's reason
 */
export async function compareRenders({ manifests }: ManifestDirectory, renderer: Renderer, signal: AbortSignal) {
  const base: Base = { version: '', featureGates: [] };
  const visible = manifests.filter(({ fileName }) => !fileName.startsWith('.'));
  const inBootstrap = new Map(visible.map(({ fileName, content }) => [fileName, content]));
  const bootstrap = await render(inBootstrap, base, renderer, signal);
  if (bootstrap.error !== undefined) {
    const { error } = await render(new Map(), base, renderer, signal);
    if (error !== undefined) throw new ProgramError(`the operator cannot render a cluster without manifests: ${error}`);
    return { pools: [], problems: [createFailure(bootstrap.error, manifests)] };
  }
  // The operator replaces a config of a user that has the name of one of its own.
  const count = (name: string, names: readonly string[]): number => names.filter((each) => each === name).length;
  const own = manifests.flatMap(({ objects }) =>
    objects.filter(({ kind }) => kind === 'MachineConfig').map(({ name }) => name),
  );
  const replaced = new Set(own.filter((name) => count(name, bootstrap.sources) > count(name, own)));
  const created = new Map<string, ManifestObject>();
  const inCluster = new Map<string, string>();
  for (const manifest of manifests) {
    const [object] = manifest.objects;
    const { value } = manifest.inCluster;
    if (object === undefined || !isRecord(value) || created.has(object.id)) continue;
    if (object.kind === 'MachineConfig' && replaced.has(object.name)) continue;
    created.set(object.id, object);
    inCluster.set(`${manifest.fileName}.json`, JSON.stringify(value));
  }
  const cluster = await render(inCluster, base, renderer, signal);
  const objects = manifests.flatMap((manifest) => manifest.objects);
  const lost = objects.filter((object) => created.get(object.id) !== object && isRenderInput(object.id));
  const names = new Set([...bootstrap.configs, ...cluster.configs].map(({ name }) => parsePoolName(name) ?? ''));
  const pools = [...names].toSorted().map((pool) => comparePool(pool, bootstrap, cluster, objects, lost));
  const problems = cluster.error === undefined ? [] : [createFailure(cluster.error, manifests)];
  return { pools, problems: [...problems, ...pools.flatMap(createDifference)] };
}

function createFailure(error: string, manifests: readonly Manifest[]): ManifestProblem {
  const named = manifests.find(({ fileName }) => error.includes(fileName));
  return createProblem('RenderFails', { detail: error, file: named?.file ?? '.' });
}

/** For a pool whose configs the bootstrap host serves, or that the cluster checks. */
function createDifference({ pool, isEqual, bootstrap, cluster, differences }: PoolRenders): ManifestProblem[] {
  if (isEqual || !ROLES.includes(pool)) return [];
  const parts = differences.slice(0, MAX_PARTS).map(({ kind, name }) => `${kind} ${name}`);
  const rest = differences.length > MAX_PARTS ? ` and ${differences.length - MAX_PARTS} more` : '';
  const files = [...new Set(differences.flatMap(({ setBy }) => setBy))];
  const detail = `${bootstrap} on the bootstrap host, ${cluster} in the cluster, because of ${parts.join(', ')}${rest}`;
  return (files.length === 0 ? ['.'] : files).map((file) => createProblem('RendersDiffer', { detail, file }));
}

function comparePool(
  pool: string,
  bootstrap: Render,
  cluster: Render,
  objects: readonly ManifestObject[],
  lost: readonly ManifestObject[],
): PoolRenders {
  const [first, second] = [bootstrap, cluster].map(({ configs }) =>
    configs.find(({ name }) => parsePoolName(name) === pool),
  );
  const isEqual = first?.name === second?.name;
  const differences = isEqual ? [] : diffSpecs(first?.spec ?? {}, second?.spec ?? {});
  return {
    pool,
    isEqual,
    bootstrap: first?.name ?? null,
    cluster: second?.name ?? null,
    differences: differences.map(({ kind, name, first: inBootstrap, second: inCluster }) => {
      const isPart = (part: ConfigPart): boolean => part.kind === kind && part.name === name;
      const sources = objects.filter(
        (object) => object.kind === 'MachineConfig' && listParts(object.spec).some(isPart),
      );
      const setBy = sources.length > 0 ? sources : lost;
      return {
        kind,
        name,
        bootstrap: inBootstrap === undefined ? null : summarizePart(inBootstrap),
        cluster: inCluster === undefined ? null : summarizePart(inCluster),
        setBy: [...new Set(setBy.map(({ manifest }) => manifest.file))],
      };
    }),
  };
}

/** Learns from the errors of the operator what its release wants of the base objects. */
async function render(
  files: ReadonlyMap<string, Buffer | string>,
  base: Base,
  renderer: Renderer,
  signal: AbortSignal,
): Promise<Render> {
  for (let attempt = 0; ; attempt += 1) {
    const result = await renderOnce(files, base, renderer, signal);
    const { error = '' } = result;
    const [, version] = VERSION_ERROR.exec(error) ?? [];
    const [, gate] = GATE_ERROR.exec(error) ?? [];
    if (attempt === MAX_ATTEMPTS || (version === undefined && gate === undefined)) return result;
    base.version = version ?? base.version;
    if (gate !== undefined) base.featureGates.push(gate);
  }
}

async function renderOnce(
  files: ReadonlyMap<string, Buffer | string>,
  base: Base,
  renderer: Renderer,
  signal: AbortSignal,
): Promise<Render> {
  const directory = await mkdtemp(path.join(tmpdir(), 'machineconfig-guard-'));
  const [input, output] = [path.join(directory, 'in'), path.join(directory, 'out')];
  try {
    await Promise.all([mkdir(input), mkdir(output)]);
    const objects = createBaseObjects(base).map(
      (object, index) => [`zz-machineconfig-guard-${index}.json`, JSON.stringify(object)] as const,
    );
    for (const [name, content] of [...files, ...objects])
      await writeFile(path.join(input, name), content, { mode: 0o600 });
    const { exitCode, output: text } = await renderer(input, output);
    const [, error = text.trim().split('\n').at(-1) ?? ''] = LAST_ERROR.exec(text) ?? [];
    if (exitCode !== 0) {
      const plain = error.replaceAll(`${input}/`, '').replaceAll('/in/', '');
      return { configs: [], sources: [], error: toPrintableLine(plain, MAX_ERROR_LENGTH) || `exit code ${exitCode}` };
    }
    const { configs } = await readRenderedConfigs(output, () => true, signal);
    const pool = await readRegularFile(path.join(output, 'machine-pools', 'master.yaml'), MAX_CONFIG_BYTES, signal);
    return { configs, sources: listPoolSources(parseYaml(pool.toString(), 'master.yaml').value), error: undefined };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

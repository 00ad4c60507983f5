import { ProgramError } from '../rendered-config/operator/run-program.ts';
import { parsePoolName } from '../mco/machine-config.ts';
import {
  canonicalize,
  diffSpecs,
  type ExplainedDifference,
  explainDifferences,
} from '../rendered-config/config-parts.ts';
import type { ClusterObjects } from '../rendered-config/operator/base-manifests.ts';
import type { Render, RenderFiles } from '../rendered-config/operator/render.ts';
import { isRecord } from '../rendered-config/rendered-config.ts';
import { createProblem, type ManifestProblem } from './find-problems.ts';
import { MACHINE_CONFIG, type ManifestObject, type ManifestSet, ROLES } from './manifest-set.ts';

/** Part of the JSON of `check manifests --operator`. Its keys are a contract. */
export interface PoolRenders {
  readonly pool: string;
  /** The name of the config that the bootstrap host renders. Null if it renders none. */
  readonly bootstrap: string | null;
  readonly cluster: string | null;
  readonly differences: readonly {
    readonly kind: string;
    readonly name: string;
    readonly bootstrap: string | null;
    readonly cluster: string | null;
    readonly setBy: readonly string[];
  }[];
}

interface Comparison {
  /** Empty if a manifest makes the operator fail. */
  readonly renders: readonly PoolRenders[];
  readonly problems: readonly ManifestProblem[];
}

interface RenderedFile {
  readonly name: string;
  /** The manifest that it comes from. */
  readonly file: string;
  readonly content: Buffer | string;
}

const MAX_PARTS = 3;
const MAX_FAULTS = 10;

/**
 * Renders twice: what the bootstrap host reads, and what the cluster gets. If the operator fails, it renders without
 * some manifests until it knows which ones are at fault.
 * @throws ProgramError, FileError; the signal's reason
 */
export async function compareRenders(set: ManifestSet, render: RenderFiles): Promise<Comparison> {
  const visible = set.manifests.filter(({ fileName }) => !fileName.startsWith('.'));
  const read = visible.map(({ fileName: name, file, content }) => ({ name, file, content }));
  const bootstrap = await renderAll(read, render);
  let faults = await findFaults(bootstrap.error, read, render);
  if (faults.length > 0) return { renders: [], problems: faults };
  const created = listCreatedObjects(set, bootstrap);
  const files = toFiles(created, set);
  const cluster = await renderAll(files, render);
  faults = await findFaults(cluster.error, files, render);
  if (faults.length > 0) return { renders: [], problems: faults };
  const lost = set.all.filter((object) => !created.includes(object) && set.catalog.has('renderInputs', object.type));
  const lostFiles = [...new Set(lost.map(({ manifest }) => manifest.file))];
  const pools = [...bootstrap.configs, ...cluster.configs].map(({ name }) => parsePoolName(name) ?? '');
  const renders = [...new Set(pools)].map((pool) => comparePool(pool, bootstrap, cluster, set, lostFiles));
  return { renders, problems: renders.flatMap(createDifference) };
}

async function renderAll(files: readonly RenderedFile[], render: RenderFiles): Promise<Render> {
  return await render(new Map(files.map(({ name, content }) => [name, content])));
}

/** cluster-bootstrap reads another value than the bootstrap host from some files. */
function toFiles(objects: readonly ManifestObject[], { splitsFiles }: ManifestSet): RenderedFile[] {
  return objects.map(({ manifest, value }, index) => {
    const created = splitsFiles === true ? value : manifest.inCluster.value;
    return { name: `${manifest.fileName}.${index}.json`, file: manifest.file, content: canonicalize(created) };
  });
}

/** What the directory says about the cluster. */
export function listClusterObjects({ all }: ManifestSet): ClusterObjects {
  const objects = all.filter(({ type }) => /^(?:|\w+\.openshift\.io) /.test(type));
  return new Map(objects.map(({ kind, name, value }) => [`${kind} ${name}`, value]));
}

/** Each manifest without which the operator ends later, or not at all. */
async function findFaults(
  firstError: string | undefined,
  files: readonly RenderedFile[],
  render: RenderFiles,
): Promise<ManifestProblem[]> {
  const { error: baseError } = firstError === undefined ? {} : await render(new Map());
  if (baseError !== undefined) {
    throw new ProgramError(`the operator cannot render a cluster without manifests: ${baseError}`);
  }
  const problems: ManifestProblem[] = [];
  let error = firstError;
  let left = files;
  while (error !== undefined && problems.length < MAX_FAULTS) {
    // The shortest beginning of the files with which the operator fails ends with a manifest at fault.
    let working = 0;
    let failing = left.length;
    while (failing - working > 1) {
      const middle = Math.floor((working + failing) / 2);
      const result = await renderAll(left.slice(0, middle), render);
      if (result.error === undefined) working = middle;
      else {
        failing = middle;
        error = result.error;
      }
    }
    problems.push(createProblem('RenderFails', 'error', error, { file: left[failing - 1]?.file ?? '.' }));
    left = left.toSpliced(failing - 1, 1);
    ({ error } = await renderAll(left, render));
  }
  return problems;
}

/**
 * What the cluster gets: of each file the first document, unless the installer splits it. An object is created once,
 * one with items or without a name or with that of a pool of the operator never, and the operator replaces configs with
 * its names.
 */
function listCreatedObjects(
  { manifests, listOfType, splitsFiles }: ManifestSet,
  { sources }: Render,
): ManifestObject[] {
  const configs = listOfType(MACHINE_CONFIG);
  const isReplaced = ({ type, name }: ManifestObject): boolean =>
    type === MACHINE_CONFIG &&
    sources.filter((source) => source === name).length > configs.filter((config) => config.name === name).length;
  // The operator creates its pools before.
  const ids = new Set(
    ['master', 'worker'].map((name) => `machineconfiguration.openshift.io/v1/MachineConfigPool//${name}`),
  );
  const candidates = manifests.flatMap(({ objects, inCluster: { value } }) => {
    if (splitsFiles === true) return objects;
    return isRecord(value) && value['items'] === undefined ? objects.slice(0, 1) : [];
  });
  return candidates.filter((object) => {
    const isFirst = !ids.has(object.id);
    ids.add(object.id);
    return isFirst && object.name !== '' && !isReplaced(object);
  });
}

/** @param lostFiles set the parts that no MachineConfig sets, such as those of a KubeletConfig */
function comparePool(
  pool: string,
  bootstrap: Render,
  cluster: Render,
  { listOfType }: ManifestSet,
  lostFiles: readonly string[],
): PoolRenders {
  // The bootstrap host can have two pools of one name: its own, and that of the user.
  const find = ({ configs }: Render, { configs: others }: Render) => {
    const ofPool = configs.filter(({ name }) => parsePoolName(name) === pool);
    return ofPool.find(({ name }) => others.every((config) => config.name !== name)) ?? ofPool[0];
  };
  const one = find(bootstrap, cluster);
  const other = find(cluster, bootstrap);
  const differences = one?.name === other?.name ? [] : diffSpecs(one?.spec ?? {}, other?.spec ?? {});
  const specs = listOfType(MACHINE_CONFIG).map(({ manifest, spec }) => [manifest.file, spec] as const);
  const toDifference = ({ kind, name, first, second, setBy }: ExplainedDifference) => {
    return { kind, name, bootstrap: first, cluster: second, setBy: setBy.length > 0 ? setBy : lostFiles };
  };
  return {
    pool,
    bootstrap: one?.name ?? null,
    cluster: other?.name ?? null,
    differences: explainDifferences(differences, specs).map(toDifference),
  };
}

/** Custom pools get their configs only from the cluster. */
function createDifference({ pool, bootstrap, cluster, differences }: PoolRenders): ManifestProblem[] {
  if (bootstrap === cluster || !ROLES.includes(pool)) return [];
  const parts = differences.slice(0, MAX_PARTS).map(({ kind, name }) => `${kind} ${name}`);
  if (differences.length > MAX_PARTS) parts.push(`${differences.length - MAX_PARTS} more`);
  const files = new Set(differences.flatMap(({ setBy }) => setBy));
  const detail = `${bootstrap} on the bootstrap host, ${cluster} in the cluster: ${parts.join(', ')}`;
  return Array.from(files.size === 0 ? ['.'] : files, (file) =>
    createProblem('RendersDiffer', 'error', detail, { file }),
  );
}

import { ProgramError } from '../../../rendered-config/operator/run-program.ts';
import { diffSpecs, explainDifferences } from '../../../rendered-config/config-parts.ts';
import { isRenderInput } from '../../../rendered-config/inputs/kinds.ts';
import type { createRender, Render } from '../../../rendered-config/operator/render.ts';
import { isRecord } from '../../../rendered-config/rendered-config.ts';
import { createProblem, type ManifestProblem } from './find-problems.ts';
import { type Manifest, type ManifestDirectory, type ManifestObject, ROLES } from './manifest-directory.ts';
import { parsePoolName } from '../../../mco/machine-config.ts';

export type PoolRenders = ReturnType<typeof comparePool>;

const MAX_PARTS = 3;

export async function compareRenders({ manifests, all }: ManifestDirectory, render: ReturnType<typeof createRender>) {
  const visible = manifests.filter(({ fileName }) => !fileName.startsWith('.'));
  const bootstrap = await render(new Map(visible.map(({ fileName, content }) => [fileName, content])));
  if (bootstrap.error !== undefined) {
    const { error } = await render(new Map());
    if (error !== undefined) throw new ProgramError(`the operator cannot render a cluster without manifests: ${error}`);
    return { renders: [], problems: [createFailure(bootstrap.error, manifests)] };
  }
  const created = listCreatedObjects(manifests, all, bootstrap);
  const cluster = await render(
    new Map(created.map(({ manifest }) => [`${manifest.fileName}.json`, JSON.stringify(manifest.inCluster.value)])),
  );
  if (cluster.error !== undefined) return { renders: [], problems: [createFailure(cluster.error, manifests)] };
  const lost = all.filter((object) => !created.includes(object) && isRenderInput(object.id));
  const lostFiles = [...new Set(lost.map(({ manifest }) => manifest.file))];
  const renders = [...bootstrap.configs, ...cluster.configs]
    .map(({ name }) => parsePoolName(name) ?? '')
    .filter((pool, index, pools) => pools.indexOf(pool) === index)
    .map((pool) => comparePool(pool, [bootstrap, cluster], all, lostFiles));
  return { renders, problems: renders.flatMap(createDifference) };
}

/**
 * What stays of the first documents: an object is created once, an object with items never, and the operator replaces
 * configs with its names.
 */
function listCreatedObjects(manifests: readonly Manifest[], all: readonly ManifestObject[], { sources }: Render) {
  const configs = all.filter(({ kind }) => kind === 'MachineConfig');
  const isReplaced = ({ kind, name }: ManifestObject): boolean =>
    kind === 'MachineConfig' &&
    sources.filter((source) => source === name).length > configs.filter((config) => config.name === name).length;
  const first = manifests.flatMap(({ objects, inCluster: { value } }) =>
    isRecord(value) && value['items'] === undefined ? objects.slice(0, 1) : [],
  );
  return first.filter((object) => !isReplaced(object) && first.find(({ id }) => id === object.id) === object);
}

/** @param lostFiles set the parts that no MachineConfig sets, such as those of a KubeletConfig */
function comparePool(
  pool: string,
  sides: readonly Render[],
  objects: readonly ManifestObject[],
  lostFiles: readonly string[],
) {
  const [bootstrap, cluster] = sides.map(({ configs }) => configs.find(({ name }) => parsePoolName(name) === pool));
  const differences = bootstrap?.name === cluster?.name ? [] : diffSpecs(bootstrap?.spec ?? {}, cluster?.spec ?? {});
  const sources = objects.filter(({ kind }) => kind === 'MachineConfig');
  const specs = sources.map(({ manifest, spec }) => [manifest.file, spec] as const);
  return {
    pool,
    bootstrap: bootstrap?.name ?? null,
    cluster: cluster?.name ?? null,
    differences: explainDifferences(differences, specs).map(({ kind, name, first, second, setBy }) => {
      return { kind, name, bootstrap: first, cluster: second, setBy: setBy.length > 0 ? setBy : lostFiles };
    }),
  };
}

function createFailure(error: string, manifests: readonly Manifest[]): ManifestProblem {
  const file = manifests.find(({ fileName }) => error.includes(fileName))?.file ?? '.';
  return createProblem('RenderFails', error, file);
}

/** Custom pools get their configs only from the cluster. */
function createDifference({ pool, bootstrap, cluster, differences }: PoolRenders): ManifestProblem[] {
  if (bootstrap === cluster || !ROLES.includes(pool)) return [];
  const parts = differences.slice(0, MAX_PARTS).map(({ kind, name }) => `${kind} ${name}`);
  if (differences.length > MAX_PARTS) parts.push(`${differences.length - MAX_PARTS} more`);
  const files = new Set(differences.flatMap(({ setBy }) => setBy));
  const detail = `${bootstrap} on the bootstrap host, ${cluster} in the cluster: ${parts.join(', ')}`;
  return Array.from(files.size === 0 ? ['.'] : files, (file) => createProblem('RendersDiffer', detail, file));
}

import type { ApiObject } from '../kube/api-object.ts';
import { MACHINE_CONFIGS_PATH, objectPath } from '../kube/api-paths.ts';
import type { KubeApi } from '../kube/api.ts';
import { diffSpecs, type ExplainedDifference, explainDifferences } from '../rendered-config/config-parts.ts';
import type { RenderedConfig } from '../rendered-config/rendered-config.ts';
import { readObject } from './cluster-access.ts';
import { formatTable, NONE } from './output/table.ts';
import type { TextFormat } from './output/text-format.ts';
import { readWithRetries } from './poll.ts';

type Spec = RenderedConfig['spec'];

export interface ConfigDifference extends Omit<ExplainedDifference, 'first' | 'second'> {
  readonly copy: string | null;
  readonly cluster: string | null;
}

async function readSpec(api: KubeApi, name: string, signal: AbortSignal | undefined): Promise<Spec | undefined> {
  const path = objectPath(MACHINE_CONFIGS_PATH, name);
  const object = await readWithRetries((limited) => readObject(api, path, 'get', limited), signal);
  return object === undefined ? undefined : (((object as ApiObject).spec ?? {}) as Spec);
}

/** Undefined if the config in the API does not exist. `sources` names the configs that the cluster merges. */
export async function readDifferences(
  api: KubeApi,
  copy: Spec,
  otherName: string,
  sources: readonly string[],
  signal?: AbortSignal,
): Promise<readonly ConfigDifference[] | undefined> {
  const other = await readSpec(api, otherName, signal);
  const differences = other === undefined ? [] : diffSpecs(copy, other);
  const specs: (readonly [string, Spec])[] = [];
  for (const source of differences.length === 0 ? [] : sources)
    specs.push([source, (await readSpec(api, source, signal)) ?? {}]);
  const explained = explainDifferences(differences, specs);
  return (
    other &&
    explained.map(({ kind, name, first: copy, second: cluster, setBy }) => ({ kind, name, copy, cluster, setBy }))
  );
}

export function formatDifferences(
  format: TextFormat,
  differences: readonly ConfigDifference[],
  header: string,
): string {
  const rows = differences.map(({ kind, name, copy, cluster, setBy }) => {
    return [kind, name, copy ?? NONE, cluster ?? NONE, setBy.join(', ') || NONE];
  });
  return rows.length === 0 ? '' : formatTable(format, ['DIFFERENT', 'NAME', header, 'CLUSTER', 'SET BY'], rows);
}

import type { ApiObject } from '../kube/api-object.ts';
import { objectPath } from '../kube/api-paths.ts';
import type { KubeApi } from '../kube/api.ts';
import { diffSpecs, explainDifferences } from '../rendered-config/config-parts.ts';
import type { RenderedConfig } from '../rendered-config/rendered-config.ts';
import { readObject } from './cluster-access.ts';
import { formatNarrowTable, NONE } from './output/table.ts';
import type { TextFormat } from './output/text-format.ts';
import { readWithRetries } from './poll.ts';
import { MACHINE_CONFIGS_PATH } from '../mco/api-paths.ts';

type Spec = RenderedConfig['spec'];

/** How a copy differs from a config of the cluster. Part of the JSON of `restore` and `check bootstrap`. */
export interface ConfigDifference {
  /** Such as `file`, `unit` or `kernel argument`. */
  readonly kind: string;
  readonly name: string;
  /** A digest of the content, which can be secret. Null if the copy has no such part. */
  readonly copy: string | null;
  readonly cluster: string | null;
  /** The MachineConfigs in the cluster that set the part. */
  readonly setBy: readonly string[];
}

/** Undefined if the config in the API does not exist. `sources` names the configs that the cluster merges. */
export async function readDifferences(
  api: KubeApi,
  copy: Spec,
  otherName: string,
  sources: readonly string[],
  signal?: AbortSignal,
): Promise<readonly ConfigDifference[] | undefined> {
  const readSpec = async (name: string) => {
    const path = objectPath(MACHINE_CONFIGS_PATH, name);
    const object = await readWithRetries((limited) => readObject<ApiObject>(api, path, 'get', limited), signal);
    return object && ((object.spec ?? {}) as Spec);
  };
  const other = await readSpec(otherName);
  if (other === undefined) return undefined;
  const differences = diffSpecs(copy, other);
  const specs: (readonly [string, Spec])[] = [];
  for (const source of differences.length === 0 ? [] : sources) specs.push([source, (await readSpec(source)) ?? {}]);
  return explainDifferences(differences, specs).map(({ kind, name, first, second, setBy }) => {
    return { kind, name, copy: first, cluster: second, setBy };
  });
}

export function formatDifferences(format: TextFormat, differences: readonly ConfigDifference[], header: string) {
  const rows = differences.map(({ kind, name, copy, cluster, setBy }) => {
    return [kind, name, copy ?? NONE, cluster ?? NONE, setBy.join(', ') || NONE];
  });
  const headers = ['DIFFERENT', 'NAME', header, 'CLUSTER', 'SET BY'];
  // SET BY also shows whether the cluster has the part.
  const dispensable = ['CLUSTER', header, 'SET BY'];
  return rows.length === 0 ? '' : formatNarrowTable(format, headers, rows, dispensable, '-o json also has');
}

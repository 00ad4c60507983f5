import type { ApiObject } from '../kube/api-object.ts';
import { MACHINE_CONFIGS_PATH, objectPath } from '../kube/api-paths.ts';
import type { KubeApi } from '../kube/api.ts';
import {
  type ConfigPart,
  diffSpecs,
  listParts,
  type PartDifference,
  summarizePart,
} from '../rendered-config/config-parts.ts';
import type { RenderedConfig } from '../rendered-config/rendered-config.ts';
import { readObject } from './cluster-access.ts';
import { formatTable } from './output/table.ts';
import type { TextFormat } from './output/text-format.ts';
import { readWithRetries } from './poll.ts';

type Spec = RenderedConfig['spec'];

/** How a copy of a config differs from a config in the API. */
export interface ConfigDifference extends Pick<PartDifference, 'kind' | 'name'> {
  /** A value or a digest, because contents can be secret. Null if the side does not have the part. */
  readonly copy: string | null;
  readonly cluster: string | null;
  /** The source MachineConfigs in the cluster that set the part. */
  readonly setBy: readonly string[];
}

/** The spec of a MachineConfig. Undefined if it does not exist. */
async function readSpec(api: KubeApi, name: string, signal: AbortSignal | undefined): Promise<Spec | undefined> {
  const path = objectPath(MACHINE_CONFIGS_PATH, name);
  const object = await readWithRetries((limited) => readObject(api, path, 'get', limited), signal);
  return object === undefined ? undefined : (((object as ApiObject).spec ?? {}) as Spec);
}

/**
 * Compares a copy with a config in the API.
 *
 * @param sources the names of the configs that the cluster merges
 * @returns undefined if the config in the API does not exist
 * @throws ClusterAccessError, TimeoutError, or the signal's reason
 */
export async function readDifferences(
  api: KubeApi,
  copy: Spec,
  otherName: string,
  sources: readonly string[],
  signal?: AbortSignal,
): Promise<readonly ConfigDifference[] | undefined> {
  const other = await readSpec(api, otherName, signal);
  const differences = other === undefined ? [] : diffSpecs(copy, other);
  const parts: { readonly source: string; readonly parts: readonly ConfigPart[] }[] = [];
  for (const source of differences.length === 0 ? [] : sources) {
    parts.push({ source, parts: listParts((await readSpec(api, source, signal)) ?? {}) });
  }
  return (
    other &&
    differences.map(({ kind, name, first, second }) => {
      const setBy = parts.filter((own) => own.parts.some((part) => part.kind === kind && part.name === name));
      return {
        kind,
        name,
        copy: first === undefined ? null : summarizePart(first),
        cluster: second === undefined ? null : summarizePart(second),
        setBy: setBy.map(({ source }) => source),
      };
    })
  );
}

const NONE = '<none>';

/** @param header of the column with the copy */
export function formatDifferences(
  format: TextFormat,
  differences: readonly ConfigDifference[],
  header: string,
): string {
  const rows = differences.map(({ kind, name, copy, cluster, setBy }) =>
    [kind, name, copy ?? NONE, cluster ?? NONE, setBy.join(', ') || NONE].map((text) => ({ text })),
  );
  const headers = ['DIFFERENT', 'NAME', header, 'CLUSTER', 'SET BY'];
  return rows.length === 0
    ? ''
    : formatTable(
        format,
        headers.map((text) => ({ header: text })),
        rows,
      );
}

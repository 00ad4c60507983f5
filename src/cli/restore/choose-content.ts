import { setImmediate as waitForNextTurn } from 'node:timers/promises';
import { type ConfigName, isRenderedConfig, parsePoolName, toConfigName } from '../../decision/config-name.ts';
import { joinWithAnd } from '../../common/printable-text.ts';
import { accessCluster } from '../../client/cluster-access.ts';
import { listAll } from '../../client/cluster-reader.ts';
import type { ApiObject } from '../../kube/api-object.ts';
import { BUILDS_PATHS, CONTROLLER_CONFIGS_PATH, OS_IMAGE_STREAMS_PATHS } from '../../kube/api-paths.ts';
import type { KubeApi } from '../../kube/api.ts';
import { ApiError } from '../../kube/errors.ts';
import { MACHINE_CONFIGS } from '../../references/sources.ts';
import { chooseCopies, computeRenderedName, hasMatchingName } from '../../rendered-config/config-hash.ts';
import type { RenderedConfig } from '../../rendered-config/rendered-config.ts';

/** The content with which a config is restored. */
export interface Content {
  readonly config: RenderedConfig;
  /** Present if no copy has this content, but the hash in the name proves it. A sentence. */
  readonly correction?: string;
  /** Present if the hash in the name is of no copy. */
  readonly mismatch?: Mismatch;
}

interface Mismatch {
  /** A clause about all copies. */
  readonly reason: string;
  /** Another config in the API whose content does not match its name either. */
  readonly similarConfig: ConfigName | undefined;
}

/** What the cluster knows of contents. */
export interface ContentEvidence {
  /** Pull specs that can be the osImageURL of a config. */
  readonly images: ReadonlySet<string>;
  readonly similarConfig: ConfigName | undefined;
}

export const NO_EVIDENCE: ContentEvidence = { images: new Set(), similarConfig: undefined };

type Spec = RenderedConfig['spec'];

const OTHER_SOURCES = [[CONTROLLER_CONFIGS_PATH], BUILDS_PATHS, OS_IMAGE_STREAMS_PATHS];
const PULL_SPEC = /[\w.:/-]+@sha256:[0-9a-f]{64}/g;
/** A hash takes 20 to 150 ms. */
const MAX_VARIANTS = 200;
/** Enough to tell a cluster that was installed from an image. */
const MAX_SAMPLES = 3;

/** Reads only contents that the command needs if no copy matches its name. */
export async function readContentEvidence(api: KubeApi, signal: AbortSignal): Promise<ContentEvidence> {
  const images = new Set<string>();
  const samples: Pick<RenderedConfig, 'name' | 'spec'>[] = [];
  const addConfig = ({ metadata, spec }: ApiObject): void => {
    const { osImageURL } = (spec ?? {}) as { readonly osImageURL?: unknown };
    if (typeof osImageURL === 'string' && osImageURL !== '') images.add(osImageURL);
    const name = toConfigName(String(metadata?.name));
    if (isRenderedConfig(name) && samples.length < MAX_SAMPLES) samples.push({ name, spec: spec as Spec });
  };
  await listAll(api, { ...MACHINE_CONFIGS, isMetadataOnly: false }, addConfig, signal);
  for (const path of OTHER_SOURCES.flat()) {
    const text = JSON.stringify(await readIfAllowed(api, path, signal));
    for (const [image] of text.matchAll(PULL_SPEC)) images.add(image);
  }
  return { images, similarConfig: samples.find((config) => !hasMatchingName(config))?.name };
}

/** Older releases lack some kinds, and a user can lack the right to read them. */
async function readIfAllowed(api: KubeApi, path: string, signal: AbortSignal): Promise<unknown> {
  try {
    return await api.json({ path, signal });
  } catch (error) {
    if (error instanceof ApiError && (error.status === 403 || error.status === 404)) return null;
    return await accessCluster('list', path, signal, () => Promise.reject(error as Error));
  }
}

/**
 * Chooses the copy that matches the hash in the name. If there is none, tries to undo what the machine-config-server
 * changes in the file that it writes (machine-config-operator, pkg/server): osImageURL in image mode, and the kernel
 * arguments of the Ignition config, which it appends for each machine that asks with Ignition before 3.3.
 *
 * @param copies of one config
 */
export async function chooseContent(
  copies: readonly RenderedConfig[],
  { images, similarConfig }: ContentEvidence,
  signal: AbortSignal,
): Promise<Content> {
  const [config] = chooseCopies(copies) as [RenderedConfig];
  if (hasMatchingName(config)) return { config };
  let variantsLeft = MAX_VARIANTS;
  for (const copy of copies) {
    for (const spec of listVariants(copy.spec, images)) {
      signal.throwIfAborted();
      if (hasMatchingName({ name: copy.name, spec }))
        return { config: { ...copy, spec }, correction: describe(copy, spec) };
      variantsLeft -= 1;
      if (variantsLeft === 0) break;
      await waitForNextTurn();
    }
  }
  return { config, mismatch: { reason: describeCopies(copies), similarConfig } };
}

function* listVariants(spec: Spec, images: ReadonlySet<string>): Generator<Spec> {
  for (const args of listKernelArguments(spec)) {
    const variant = args === undefined ? spec : { ...spec, kernelArguments: args };
    if (args !== undefined) yield variant;
    for (const osImageURL of images) if (osImageURL !== spec['osImageURL']) yield { ...variant, osImageURL };
  }
}

/** Undefined for the list as it is, then the list without one or more repetitions at its end. */
function* listKernelArguments({ config, kernelArguments }: Spec): Generator<readonly string[] | undefined> {
  yield undefined;
  const ignition = config as { readonly kernelArguments?: { readonly shouldExist?: unknown } } | null | undefined;
  const added = toTexts(ignition?.kernelArguments?.shouldExist);
  let args = toTexts(kernelArguments);
  while (added.length > 0 && added.every((arg, index) => args.at(index - added.length) === arg)) {
    args = args.slice(0, -added.length);
    yield args;
  }
}

function toTexts(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

function describe({ source, spec }: RenderedConfig, proven: Spec): string {
  const fields = ['osImageURL', 'kernelArguments'].filter((field) => spec[field] !== proven[field]);
  return (
    `The machine-config-server has changed ${joinWithAnd(fields)} in ${source}. ` +
    'The restored content is the original one: the hash in the name proves it.'
  );
}

function describeCopies(copies: readonly RenderedConfig[]): string {
  const hashes = copies.map(({ name, spec, source }) => {
    const [hash] = computeRenderedName(parsePoolName(name) ?? '', spec)
      .split('-')
      .slice(-1);
    return `the hash of the content of ${source} is ${hash}`;
  });
  return `${joinWithAnd(hashes)}, not the one in the name`;
}

import { setImmediate as waitForNextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import { createNearestFinder } from '../diagnosis/nearest-name.ts';
import type { KubeApi } from '../kube/api.ts';
import { withTimeout } from '../common/wait.ts';
import type { ReferenceIndex } from '../references/reference-index.ts';
import {
  type DanglingReference,
  explainEmptyStatus,
  explainMissingConfig,
  judgeEmptyStatus,
} from '../diagnosis/dangling-references.ts';
import { type ConfigName, formatName, isRenderedConfig, parsePoolName } from '../mco/machine-config.ts';
import { MACHINE_CONFIGS } from '../mco/resources.ts';
import type { ConfigIndex } from '../references/config-index.ts';
import { getObject } from '../kube/resource.ts';
import { NO_REFERENCES } from '../references/config-referrers.ts';

/** A dangling reference, or a pool whose status names no config although it should. */
export interface DanglingFinding extends Pick<DanglingReference, 'kind' | 'name' | 'field'> {
  /** Undefined for the empty status of a pool. */
  readonly config: ConfigName | undefined;
  readonly since: Date;
  readonly deletedAt: Date | undefined;
  readonly explanation: string;
  readonly suggestion: ConfigName | undefined;
}

export interface DanglingReferenceDetectorOptions {
  readonly api: Pick<KubeApi, 'json'>;
  readonly index: Pick<ReferenceIndex, 'byConfig' | 'isSynced' | 'listPools'>;
  readonly configs: Pick<ConfigIndex, 'deletedAt' | 'names' | 'isSynced'>;
  readonly log: Logger;
  readonly onFound?: (finding: DanglingFinding) => void;
  readonly now: () => Date;
}

const CONFIRM_TIMEOUT_MS = 5_000;
/** After an etcd restore there can be a line for each node. Waiting reviews go first. */
const LINES_PER_TURN = 250;

/** Finds dangling references. The indexes can be late, so a GET confirms that a config is missing. */
export class DanglingReferenceDetector {
  /** Undefined until the first check has ended. */
  findings: readonly DanglingFinding[] | undefined;
  /** How many rendered configs are in use. Undefined until the first check. */
  protectedConfigs: number | undefined;
  readonly #options: DanglingReferenceDetectorOptions;
  readonly #startedAt: Date;

  constructor(options: DanglingReferenceDetectorOptions) {
    this.#options = options;
    this.#startedAt = options.now();
  }

  /** Updates the findings, and logs and reports changes. Resolves early if the signal aborts. */
  async check(signal: AbortSignal): Promise<void> {
    const { index, configs } = this.#options;
    if (!index.isSynced || !configs.isSynced) return;
    const names = configs.names();
    const used = [...index.byConfig.keys()];
    this.protectedConfigs = used.filter((config) => names.has(config) && isRenderedConfig(config)).length;
    const unknown = used.filter((config) => !names.has(config));
    const missing = await this.#confirmMissing(unknown, signal);
    const findNearest = createNearestFinder(missing.length === 0 ? [] : names);
    const found = missing.flatMap((config) => this.#describeMissing(config, findNearest(config)));
    await this.#replace([...found, ...this.#findEmptyStatuses(missing)]);
  }

  /** Returns those that are known to be missing, or are not in the API. The next check gets those that failed. */
  async #confirmMissing(configs: readonly ConfigName[], signal: AbortSignal): Promise<readonly ConfigName[]> {
    const known = new Set(this.findings?.map(({ config }) => config));
    const missing = configs.filter((config) => known.has(config));
    const confirm = async (limited: AbortSignal): Promise<void> => {
      for (const config of configs.filter((each) => !known.has(each))) {
        const get = getObject(this.#options.api, MACHINE_CONFIGS, config, limited);
        if ((await get.catch((error: unknown) => error)) === undefined) missing.push(config);
      }
    };
    await withTimeout(CONFIRM_TIMEOUT_MS, signal, confirm).catch(() => {});
    return missing;
  }

  #describeMissing(config: ConfigName, suggestion: ConfigName | undefined): readonly Omit<DanglingFinding, 'since'>[] {
    const { index, configs } = this.#options;
    const deletedAt = configs.deletedAt(config);
    const explanation = explainMissingConfig(deletedAt, this.#startedAt);
    const { references } = index.byConfig.get(config)?.summarize(undefined, Number.POSITIVE_INFINITY) ?? NO_REFERENCES;
    return references.map((reference) => ({ ...reference, deletedAt, explanation, suggestion }));
  }

  #findEmptyStatuses(missing: readonly ConfigName[]): readonly Omit<DanglingFinding, 'since'>[] {
    const { index, now } = this.#options;
    const ofNodes = missing.filter((config) => index.byConfig.get(config)?.findFirst()?.kind === 'Node');
    const poolsWithDanglingNode = new Set(ofNodes.map(parsePoolName));
    // While a pool cannot render, its condition RenderDegraded already reports the cause.
    const pools = index.listPools().filter(({ emptyStatus }) => emptyStatus?.cannotRender === false);
    return pools.flatMap((pool) => {
      const code = judgeEmptyStatus(pool, poolsWithDanglingNode.has(pool.name), now());
      if (code === undefined) return [];
      const nothing = { config: undefined, deletedAt: undefined, suggestion: undefined };
      return [{ kind: pool.kind, name: pool.name, field: 'status', explanation: explainEmptyStatus(code), ...nothing }];
    });
  }

  async #replace(found: readonly Omit<DanglingFinding, 'since'>[]): Promise<void> {
    const { log, now, onFound } = this.#options;
    const before = new Map(this.findings?.map((finding) => [keyOf(finding), finding]));
    this.findings = found.map((each) => ({ ...each, since: before.get(keyOf(each))?.since ?? now() }));
    let lines = 0;
    const pause = async (): Promise<void> => {
      lines += 1;
      if (lines % LINES_PER_TURN === 0) await waitForNextTurn();
    };
    for (const finding of this.findings) {
      if (before.delete(keyOf(finding))) continue;
      const { kind, name, field, config, explanation, suggestion } = finding;
      const fields = { reference: { kind, name, field, config }, explanation, suggestion };
      log.warn(fields, `dangling reference: ${describeFinding(finding)}`);
      onFound?.(finding);
      await pause();
    }
    for (const { kind, name, field, config } of before.values()) {
      log.info({ reference: { kind, name, field, config } }, `no longer dangling: ${kind} ${name} (${field})`);
      await pause();
    }
  }
}

/** Returns sentences without the last period. */
export function describeFinding({ kind, name, field, config, explanation, suggestion }: DanglingFinding): string {
  if (config === undefined) return `${kind} ${name}: ${explanation}`;
  const hint = suggestion === undefined ? '' : `. Closest existing name: ${suggestion}`;
  return `${kind} ${name} (${field}) names ${formatName(config)}, which does not exist. ${explanation}${hint}`;
}

function keyOf({ kind, name, field, config }: Pick<DanglingFinding, 'kind' | 'name' | 'field' | 'config'>): string {
  return [kind, name, field, config].join('\0');
}

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
/** A slice takes a few milliseconds, and waiting reviews go first. */
const SLICE_SIZE = 250;

/** Finds dangling references. The indexes can be late, so a GET confirms that a config is missing. */
export class DanglingReferenceDetector {
  readonly #options: DanglingReferenceDetectorOptions;
  readonly #startedAt: Date;
  #findings = new Map<string, DanglingFinding>();
  #protectedConfigs = 0;

  constructor(options: DanglingReferenceDetectorOptions) {
    this.#options = options;
    this.#startedAt = options.now();
  }

  get findings(): readonly DanglingFinding[] {
    return [...this.#findings.values()];
  }

  get protectedConfigs(): number {
    return this.#protectedConfigs;
  }

  async check(signal: AbortSignal): Promise<void> {
    const { index, configs, now } = this.#options;
    if (!index.isSynced || !configs.isSynced) return;
    const names = configs.names();
    const dangling = this.#findDangling(names);
    const missing = await this.#confirmMissing(dangling, signal);
    const findNearest = createNearestFinder(dangling.length === 0 ? [] : names);
    const findings = new Map<string, DanglingFinding>();
    const add = (finding: Omit<DanglingFinding, 'since'>): void => {
      const key = keyOf(finding);
      findings.set(key, { ...finding, since: this.#findings.get(key)?.since ?? now() });
    };
    const poolsWithDanglingNode = new Set<string | undefined>();
    for await (const reference of withPauses(dangling)) {
      const { config } = reference;
      if (!missing.has(config) && !this.#findings.has(keyOf(reference))) continue;
      if (reference.kind === 'Node') poolsWithDanglingNode.add(parsePoolName(config));
      const deletedAt = configs.deletedAt(config);
      const explanation = explainMissingConfig(deletedAt, this.#startedAt);
      add({ ...reference, deletedAt, explanation, suggestion: findNearest(config) });
    }
    for (const pool of index.listPools()) {
      const { kind, name } = pool;
      // While a pool cannot render, its condition RenderDegraded already reports the cause.
      if (pool.emptyStatus?.cannotRender !== false) continue;
      const code = judgeEmptyStatus(pool, poolsWithDanglingNode.has(name), now());
      if (code === undefined) continue;
      const explanation = explainEmptyStatus(code);
      add({ kind, name, field: 'status', config: undefined, deletedAt: undefined, explanation, suggestion: undefined });
    }
    await this.#report(findings);
    this.#findings = findings;
  }

  /** Returns the strong references to configs that the index does not have, and counts the configs in use. */
  #findDangling(names: ReadonlySet<ConfigName>): readonly DanglingReference[] {
    const dangling: DanglingReference[] = [];
    this.#protectedConfigs = 0;
    for (const [config, referrers] of this.#options.index.byConfig) {
      if (names.has(config))
        this.#protectedConfigs += Number(isRenderedConfig(config) && referrers.findStrong() !== undefined);
      else dangling.push(...referrers.summarize(undefined, Number.POSITIVE_INFINITY).strong.references);
    }
    return dangling;
  }

  /** Returns the configs of new references that do not exist. The next check gets those that this one cannot get. */
  async #confirmMissing(dangling: readonly DanglingReference[], signal: AbortSignal): Promise<ReadonlySet<ConfigName>> {
    const added = dangling.filter((reference) => !this.#findings.has(keyOf(reference)));
    const missing = new Set<ConfigName>();
    const confirm = async (limited: AbortSignal): Promise<void> => {
      for (const config of new Set(added.map((reference) => reference.config))) {
        const get = getObject(this.#options.api, MACHINE_CONFIGS, config, limited);
        if ((await get.catch((error: unknown) => error)) === undefined) missing.add(config);
      }
    };
    await withTimeout(CONFIRM_TIMEOUT_MS, signal, confirm).catch(() => {});
    return missing;
  }

  async #report(findings: ReadonlyMap<string, DanglingFinding>): Promise<void> {
    const { log, onFound } = this.#options;
    const all = [...this.#findings.values(), ...findings.values()];
    const changed = all.filter((finding) => this.#findings.has(keyOf(finding)) !== findings.has(keyOf(finding)));
    for await (const finding of withPauses(changed)) {
      const { kind, name, field, config, explanation, suggestion } = finding;
      const reference = { kind, name, field, config };
      if (findings.has(keyOf(finding))) {
        log.warn({ reference, explanation, suggestion }, `dangling reference: ${describeFinding(finding)}`);
        onFound?.(finding);
      } else {
        log.info({ reference }, `no longer dangling: ${kind} ${name} (${field})`);
      }
    }
  }
}

/** Other work, such as waiting reviews, runs after each slice. */
async function* withPauses<T>(items: Iterable<T>): AsyncGenerator<T> {
  let count = 0;
  for (const item of items) {
    yield item;
    count += 1;
    if (count % SLICE_SIZE === 0) await waitForNextTurn();
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

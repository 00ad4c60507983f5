import { setImmediate as waitForNextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { ConfigName } from '../decision/config-name.ts';
import { formatName } from '../decision/message.ts';
import { findNearestName } from './nearest-name.ts';
import { isPool, type PoolReferrer } from '../decision/references.ts';
import { type KubeApi } from '../kube/api.ts';
import { inSlices } from '../common/slices.ts';
import { sleep, withTimeout } from '../common/wait.ts';
import type { ConfigIndex } from '../references/config-index.ts';
import {
  type DanglingReference,
  explainEmptyStatus,
  explainMissingConfig,
  findDanglingReferences,
  findProtectedConfigs,
  judgeEmptyStatus,
} from './dangling-references.ts';
import { getConfig } from '../references/get-config.ts';
import type { ReferenceIndex } from '../references/reference-index.ts';

/** A dangling reference, or a pool whose status names no config although it should. */
export interface DanglingFinding extends Pick<DanglingReference, 'kind' | 'name' | 'field'> {
  /** Undefined for the empty status of a pool. */
  readonly config: ConfigName | undefined;
  readonly since: Date;
  /** When the watch reported the deletion of the config. */
  readonly deletedAt: Date | undefined;
  readonly explanation: string;
  readonly suggestion: ConfigName | undefined;
}

type FindingKey = Pick<DanglingFinding, 'kind' | 'name' | 'field' | 'config'>;

export interface DanglingReferenceDetectorOptions {
  readonly api: Pick<KubeApi, 'json'>;
  readonly index: Pick<ReferenceIndex, 'isSynced' | 'referrers'>;
  readonly configs: Pick<ConfigIndex, 'deletedAt' | 'names' | 'isSynced'>;
  readonly log: Logger;
  /** Called once for each new finding. */
  readonly onFound?: (finding: DanglingFinding) => void;
  readonly now?: () => Date;
}

/** A dangling reference is reported within five seconds. */
const INTERVAL_MS = 1_000;
/** For all GETs of a check. */
const CONFIRM_TIMEOUT_MS = 5_000;
/** Both take a few milliseconds, and waiting reviews go first. */
const REFERRERS_PER_SLICE = 500;
const FINDINGS_PER_SLICE = 50;

/** Finds dangling references. The indexes can be late, so a GET confirms that a config is missing. */
export class DanglingReferenceDetector {
  readonly #options: DanglingReferenceDetectorOptions;
  #findings = new Map<string, DanglingFinding>();
  #protectedConfigs = 0;
  #lastNames: ReadonlySet<ConfigName> = new Set();

  constructor(options: DanglingReferenceDetectorOptions) {
    this.#options = options;
  }

  get findings(): readonly DanglingFinding[] {
    return [...this.#findings.values()];
  }

  /** The number of existing rendered configs that were in use at the last check. */
  get protectedConfigs(): number {
    return this.#protectedConfigs;
  }

  /** Checks repeatedly until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.check(signal);
      await sleep(INTERVAL_MS, signal);
    }
  }

  async check(signal: AbortSignal): Promise<void> {
    const { index, configs, now = () => new Date() } = this.#options;
    if (!index.isSynced || !configs.isSynced) return;
    const names = configs.names();
    const { dangling, poolsWithEmptyStatus } = await this.#readIndex(names);
    const missing = await this.#confirmMissing(dangling, signal);
    // A search is repeated only if the configs have changed.
    const reusable = isDeepStrictEqual(names, this.#lastNames) ? this.findings : [];
    const suggestions: Suggestions = new Map(reusable.map(({ config, suggestion }) => [config, suggestion]));
    const findings = new Map<string, DanglingFinding>();
    const add = (finding: Omit<DanglingFinding, 'since'>): void => {
      const key = keyOf(finding);
      findings.set(key, { ...finding, since: this.#findings.get(key)?.since ?? now() });
    };
    const poolsWithDanglingNode = new Set<string>();
    for await (const slice of inSlices(dangling, FINDINGS_PER_SLICE)) {
      for (const { pool, ...reference } of slice) {
        const { config } = reference;
        if (!missing.has(config) && !this.#findings.has(keyOf(reference))) continue;
        if (pool !== undefined) poolsWithDanglingNode.add(pool);
        const deletedAt = configs.deletedAt(config);
        const suggestion = await suggestName(config, names, suggestions);
        add({ ...reference, deletedAt, explanation: explainMissingConfig(deletedAt), suggestion });
      }
    }
    for (const pool of poolsWithEmptyStatus) {
      const { kind, name } = pool;
      const code = judgeEmptyStatus(pool, poolsWithDanglingNode.has(name), now());
      if (code === undefined) continue;
      const explanation = explainEmptyStatus(code);
      add({ kind, name, field: 'status', config: undefined, deletedAt: undefined, explanation, suggestion: undefined });
    }
    await this.#report(findings);
    this.#findings = findings;
    this.#lastNames = names;
  }

  /** Also counts the protected configs. */
  async #readIndex(names: ReadonlySet<ConfigName>) {
    const dangling: DanglingReference[] = [];
    const poolsWithEmptyStatus: PoolReferrer[] = [];
    const inUse = new Set<ConfigName>();
    for await (const referrers of inSlices(this.#options.index.referrers(), REFERRERS_PER_SLICE)) {
      dangling.push(...findDanglingReferences(referrers, names));
      poolsWithEmptyStatus.push(
        // While a pool cannot render, its condition RenderDegraded already reports the cause.
        ...referrers.filter(isPool).filter(({ emptyStatus }) => emptyStatus?.cannotRender === false),
      );
      for (const config of findProtectedConfigs(referrers, names)) inUse.add(config);
    }
    this.#protectedConfigs = inUse.size;
    return { dangling, poolsWithEmptyStatus };
  }

  /** Returns the configs of new references that do not exist. The next check gets those that this one cannot get. */
  async #confirmMissing(dangling: readonly DanglingReference[], signal: AbortSignal): Promise<ReadonlySet<ConfigName>> {
    const added = dangling.filter((reference) => !this.#findings.has(keyOf(reference)));
    const missing = new Set<ConfigName>();
    const confirm = async (limited: AbortSignal): Promise<void> => {
      for (const config of new Set(added.map((reference) => reference.config))) {
        const object = await getConfig(this.#options.api, config, limited).catch((error: unknown) => error);
        if (object === undefined) missing.add(config);
      }
    };
    await withTimeout(CONFIRM_TIMEOUT_MS, signal, confirm).catch(() => {});
    return missing;
  }

  /** Logs what is new, and what is no longer found. */
  async #report(findings: ReadonlyMap<string, DanglingFinding>): Promise<void> {
    const { log, onFound } = this.#options;
    const added = [...findings.values()].filter((finding) => !this.#findings.has(keyOf(finding)));
    for await (const slice of inSlices(added, FINDINGS_PER_SLICE)) {
      for (const finding of slice) {
        const { kind, name, field, config, explanation, suggestion } = finding;
        const fields = { reference: { kind, name, field, config }, explanation, suggestion };
        log.warn(fields, `dangling reference: ${describeFinding(finding)}`);
        onFound?.(finding);
      }
    }
    const solved = this.findings.filter((finding) => !findings.has(keyOf(finding)));
    for await (const slice of inSlices(solved, FINDINGS_PER_SLICE)) {
      for (const { kind, name, field, config } of slice) {
        const fields = { reference: { kind, name, field, config } };
        log.info(fields, `no longer dangling: ${kind} ${name} (${field})`);
      }
    }
  }
}

/** Returns one sentence without a period. */
export function describeFinding({ kind, name, field, config, explanation, suggestion }: DanglingFinding): string {
  if (config === undefined) return `${kind} ${name}: ${explanation}`;
  const hint = suggestion === undefined ? '' : `; did you mean ${suggestion}?`;
  return `${kind} ${name} (${field}) names ${formatName(config)}, which does not exist (${explanation})${hint}`;
}

type Suggestions = Map<ConfigName | undefined, ConfigName | undefined>;

/**
 * Comparing hundreds of names takes 1 to 2 ms, and after an etcd restore thousands of references can dangle.
 * So each name is compared once, and waiting reviews go first.
 */
async function suggestName(
  config: ConfigName,
  names: ReadonlySet<ConfigName>,
  suggestions: Suggestions,
): Promise<ConfigName | undefined> {
  if (!suggestions.has(config)) {
    await waitForNextTurn();
    suggestions.set(config, findNearestName(config, names));
  }
  return suggestions.get(config);
}

function keyOf({ kind, name, field, config }: FindingKey): string {
  return [kind, name, field, config].join('\0');
}

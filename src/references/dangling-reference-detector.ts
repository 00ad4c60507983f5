import { setImmediate as waitForNextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { ConfigName } from '../decision/config-name.ts';
import { formatName } from '../decision/message.ts';
import { findNearestName } from '../decision/nearest-name.ts';
import type { Referrer } from '../decision/references.ts';
import { type KubeApi } from '../kube/api.ts';
import { inSlices } from '../kube/slices.ts';
import { sleep, withTimeout } from '../kube/wait.ts';
import type { ConfigIndex } from './config-index.ts';
import {
  type DanglingReference,
  explainEmptyStatus,
  explainMissingConfig,
  findDanglingReferences,
  findProtectedConfigs,
  judgeEmptyStatus,
} from './dangling-references.ts';
import { getConfig } from './get-config.ts';
import type { ReferenceIndex } from './reference-index.ts';

/** A dangling reference, or a pool whose status names no config although it should. */
export interface DanglingFinding extends Pick<DanglingReference, 'kind' | 'name' | 'field'> {
  /** Undefined for the empty status of a pool. */
  readonly config: ConfigName | undefined;
  readonly since: Date;
  readonly explanation: string;
  readonly suggestion: ConfigName | undefined;
}

type FindingKey = Pick<DanglingFinding, 'kind' | 'name' | 'field' | 'config'>;

export interface DanglingReferenceDetectorOptions {
  readonly api: Pick<KubeApi, 'json'>;
  readonly index: ReferenceIndex;
  readonly configs: Pick<ConfigIndex, 'deletedAt' | 'names' | 'isSynced'>;
  readonly log: Logger;
  /** Called once for each new finding. */
  readonly onFound?: (finding: DanglingFinding) => void;
  readonly now?: () => Date;
  readonly intervalMs?: number;
}

/** A dangling reference is reported within five seconds. */
const INTERVAL_MS = 1_000;
const GET_TIMEOUT_MS = 5_000;
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
      await sleep(this.#options.intervalMs ?? INTERVAL_MS, signal);
    }
  }

  async check(signal: AbortSignal): Promise<void> {
    const { index, configs, log, onFound, now = () => new Date() } = this.#options;
    if (!index.isSynced || !configs.isSynced) return;
    const names = configs.names();
    const { dangling, poolsWithEmptyStatus } = await this.#readIndex(names);
    const suggestions = this.#reusableSuggestions(names);
    const isMissingByName = new Map<ConfigName, boolean>();
    const findings = new Map<string, DanglingFinding>();
    const poolsWithDanglingNode = new Set<string>();
    const add = (reference: Omit<DanglingFinding, 'since'>): void => {
      const key = keyOf(reference);
      const previous = findings.get(key) ?? this.#findings.get(key);
      const finding = { ...reference, since: previous?.since ?? now() };
      findings.set(key, finding);
      if (previous !== undefined) return;
      const { explanation, suggestion } = finding;
      const fields = { reference: toLogFields(finding), explanation, suggestion };
      log.warn(fields, `dangling reference: ${describeFinding(finding)}`);
      onFound?.(finding);
    };
    for await (const slice of inSlices(dangling, FINDINGS_PER_SLICE)) {
      for (const { pool, ...reference } of slice) {
        const { config } = reference;
        const isKnown = this.#findings.has(keyOf(reference));
        if (!isKnown && !(await this.#isMissing(config, isMissingByName, signal))) continue;
        if (pool !== undefined) poolsWithDanglingNode.add(pool);
        const explanation = explainMissingConfig(configs.deletedAt(config));
        add({ ...reference, explanation, suggestion: await suggestName(config, names, suggestions) });
      }
    }
    for (const pool of poolsWithEmptyStatus) {
      const { kind, name } = pool;
      const code = judgeEmptyStatus(pool, poolsWithDanglingNode.has(name), now());
      if (code === undefined) continue;
      const explanation = explainEmptyStatus(code);
      add({ kind, name, field: 'status', config: undefined, explanation, suggestion: undefined });
    }
    for await (const slice of inSlices(this.#findings, FINDINGS_PER_SLICE)) {
      for (const [key, finding] of slice) {
        if (findings.has(key)) continue;
        const { kind, name, field } = finding;
        log.info({ reference: toLogFields(finding) }, `no longer dangling: ${kind} ${name} (${field})`);
      }
    }
    this.#findings = findings;
    this.#lastNames = names;
  }

  /** Also counts the protected configs. */
  async #readIndex(names: ReadonlySet<ConfigName>) {
    const dangling: DanglingReference[] = [];
    const poolsWithEmptyStatus: Referrer[] = [];
    const inUse = new Set<ConfigName>();
    for await (const referrers of inSlices(this.#options.index.referrers(), REFERRERS_PER_SLICE)) {
      dangling.push(...findDanglingReferences(referrers, names));
      poolsWithEmptyStatus.push(...referrers.filter(({ emptyStatus }) => emptyStatus !== undefined));
      for (const config of findProtectedConfigs(referrers, names)) inUse.add(config);
    }
    this.#protectedConfigs = inUse.size;
    return { dangling, poolsWithEmptyStatus };
  }

  /** The suggestions of the last check, unless the configs have changed since. */
  #reusableSuggestions(names: ReadonlySet<ConfigName>): Suggestions {
    if (!isDeepStrictEqual(names, this.#lastNames)) return new Map();
    const entries = this.findings.map(({ config, suggestion }) => [config, suggestion] as const);
    return new Map(entries);
  }

  /** Confirms with a GET that a config does not exist. If the GET fails, the next check retries. */
  async #isMissing(
    config: ConfigName,
    isMissingByName: Map<ConfigName, boolean>,
    signal: AbortSignal,
  ): Promise<boolean> {
    const cached = isMissingByName.get(config);
    if (cached !== undefined) return cached;
    let isMissing = false;
    try {
      const object = await withTimeout(GET_TIMEOUT_MS, signal, (limited) =>
        getConfig(this.#options.api, config, limited),
      );
      isMissing = object === undefined;
    } catch {
      // The next check retries.
    }
    isMissingByName.set(config, isMissing);
    return isMissing;
  }
}

/** Returns one sentence without a period. */
export function describeFinding({
  kind,
  name,
  field,
  config,
  explanation,
  suggestion,
}: DanglingFinding): string {
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

function toLogFields({ kind, name, field, config }: FindingKey): object {
  return { kind, name, field, config };
}

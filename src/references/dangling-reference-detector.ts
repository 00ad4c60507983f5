import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import { acceptHeaderForObject } from '../kube/resource.ts';
import type { ConfigName } from '../decision/config-name.ts';
import {
  countProtectedConfigs,
  findDanglingReferences,
  explainMissingConfig,
  type DanglingReference,
} from './dangling-references.ts';
import { findNearestName } from '../decision/nearest-name.ts';
import { ApiError, type KubeApi } from '../kube/api.ts';
import { MACHINE_CONFIGS, type ConfigIndex } from './config-index.ts';
import type { ReferenceIndex } from './reference-index.ts';
import { sleep, withTimeout } from '../kube/wait.ts';

/** A dangling reference, since when, and what is known about it. */
export interface DanglingFinding extends DanglingReference {
  readonly since: Date;
  /** A sentence without its full stop. */
  readonly explanation: string;
  /** The existing config that was probably meant. */
  readonly suggestion: ConfigName | undefined;
}

/** What {@link DanglingReferenceDetector} needs. */
export interface DanglingReferenceDetectorOptions {
  readonly api: Pick<KubeApi, 'json'>;
  readonly index: ReferenceIndex;
  readonly configs: Pick<ConfigIndex, 'deletedAt' | 'names' | 'isSynced'>;
  readonly log: Logger;
  /** Called once for each reference that is found dangling. */
  readonly onFound?: (finding: DanglingFinding) => void;
  readonly now?: () => Date;
  /** How often to look, in milliseconds. */
  readonly everyMs?: number;
}

/** Found within five seconds of the change. */
const EVERY_MS = 1_000;
const READ_MS = 5_000;

/**
 * Finds references that lead nowhere: names that never existed in this cluster, typing errors, configs that were deleted while the
 * guard was off. What the index and the names of the configs say may be late, each by its own delay, so a missing config is looked
 * at once more before anybody is told.
 */
export class DanglingReferenceDetector {
  readonly #options: DanglingReferenceDetectorOptions;
  #findings = new Map<string, DanglingFinding>();
  #protected = 0;
  /** The configs that there were when {@link #findings} were made. */
  #names: ReadonlySet<ConfigName> = new Set();

  constructor(options: DanglingReferenceDetectorOptions) {
    this.#options = options;
  }

  /** Everything that dangles, the longest first. */
  get findings(): readonly DanglingFinding[] {
    return [...this.#findings.values()];
  }

  /** How many existing rendered configs are in use. */
  get protectedConfigs(): number {
    return this.#protected;
  }

  /** Looks again and again until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.check(signal);
      await sleep(this.#options.everyMs ?? EVERY_MS, signal).catch(() => {});
    }
  }

  /** Looks once. */
  async check(signal: AbortSignal): Promise<void> {
    const { index, configs, log, onFound, now = () => new Date() } = this.#options;
    if (!index.isSynced || !configs.isSynced) return;
    const names = configs.names();
    const suggestions = isSame(names, this.#names)
      ? suggestionsIn(this.findings)
      : new Map<ConfigName, ConfigName | undefined>();
    this.#protected = countProtectedConfigs(index.referrers(), names);
    const findings = new Map<string, DanglingFinding>();
    const gone = new Map<ConfigName, boolean>();
    for (const reference of findDanglingReferences(index.referrers(), names)) {
      const key = keyOf(reference);
      const known = this.#findings.get(key);
      if (known === undefined && !(await this.#isGone(reference.config, gone, signal))) continue;
      const deletedAt = reference.config === undefined ? undefined : configs.deletedAt(reference.config);
      const finding = {
        ...reference,
        since: known?.since ?? now(),
        explanation: explainMissingConfig(reference.config, deletedAt),
        suggestion:
          reference.config === undefined ? undefined : await suggestionFor(reference.config, names, suggestions),
      };
      findings.set(key, finding);
      if (known !== undefined) continue;
      log.warn(
        { reference: shown(finding), explanation: finding.explanation, suggestion: finding.suggestion },
        `dangling reference: ${describeFinding(finding)}`,
      );
      onFound?.(finding);
    }
    for (const [key, finding] of this.#findings) {
      if (!findings.has(key))
        log.info(
          { reference: shown(finding) },
          `no longer dangling: ${finding.kind} ${finding.name} (${finding.field})`,
        );
    }
    this.#findings = findings;
    this.#names = names;
  }

  /** A fresh look at one config. What cannot be read now is looked at again the next time. */
  async #isGone(
    config: ConfigName | undefined,
    known: Map<ConfigName, boolean>,
    signal: AbortSignal,
  ): Promise<boolean> {
    if (config === undefined) return true;
    const before = known.get(config);
    if (before !== undefined) return before;
    const path = `${MACHINE_CONFIGS.paths[0] ?? ''}/${encodeURIComponent(config)}`;
    let gone = false;
    try {
      await withTimeout(
        READ_MS,
        signal,
        async (limited) => await this.#options.api.json({ path, accept: acceptHeaderForObject(true), signal: limited }),
      );
    } catch (error) {
      // A bare 404 says nothing: a proxy that has lost its way answers the same.
      gone = error instanceof ApiError && error.status === 404 && error.reason === 'NotFound';
    }
    known.set(config, gone);
    return gone;
  }
}

/** What is wrong, who with, and what was probably meant, in a sentence without its full stop. */
export function describeFinding({ kind, name, field, config, explanation, suggestion }: DanglingFinding): string {
  const meant = suggestion === undefined ? '' : `; did you mean ${suggestion}?`;
  if (config === undefined) return `${kind} ${name}: ${explanation}`;
  return `${kind} ${name} (${field}) names ${config}, which does not exist (${explanation})${meant}`;
}

type Suggestions = Map<ConfigName, ConfigName | undefined>;

function suggestionsIn(findings: readonly DanglingFinding[]): Suggestions {
  return new Map(findings.flatMap(({ config, suggestion }) => (config === undefined ? [] : [[config, suggestion]])));
}

/**
 * Comparing a name with hundreds of others takes a millisecond or two, and after a restore of etcd thousands of references may dangle. So
 * each name is compared once for as long as the others stay the same, and every time those who wait for a verdict go first.
 */
async function suggestionFor(config: ConfigName, names: ReadonlySet<ConfigName>, suggestions: Suggestions) {
  if (!suggestions.has(config)) {
    await nextTurn();
    suggestions.set(config, findNearestName(config, names));
  }
  return suggestions.get(config);
}

function isSame(some: ReadonlySet<ConfigName>, others: ReadonlySet<ConfigName>): boolean {
  return some.size === others.size && [...some].every((name) => others.has(name));
}

function keyOf({ kind, name, field, config }: DanglingReference): string {
  return [kind, name, field, config].join('\0');
}

function shown({ kind, name, field, config }: DanglingReference): object {
  return { kind, name, field, config };
}

import type { Logger } from 'pino';
import type { ConfigName } from '../decision/config-name.ts';
import { formatReferrers } from '../decision/message.ts';
import { type ReferenceGroup, summarizeReferences } from '../decision/references.ts';
import { type KubeApi } from '../kube/api.ts';
import { inSlices } from '../kube/slices.ts';
import { sleep, withTimeout } from '../kube/wait.ts';
import type { ConfigIndex } from './config-index.ts';
import { getConfig } from './get-config.ts';
import type { ReferenceIndex } from './reference-index.ts';
import { MACHINE_CONFIGS, type WatchedConfig } from './sources.ts';

/** A config that is in use and being deleted. */
export interface TerminatingFinding {
  readonly config: ConfigName;
  readonly uid: string;
  /** The strong references at the last check. */
  readonly references: ReferenceGroup;
}

export interface TerminatingConfigDetectorOptions {
  readonly api: Pick<KubeApi, 'json'>;
  readonly index: Pick<ReferenceIndex, 'findReferrers' | 'isSynced'>;
  readonly configs: Pick<ConfigIndex, 'isSynced' | 'terminating'>;
  readonly log: Logger;
  /** Called once for each new finding. */
  readonly onFound?: (finding: TerminatingFinding) => void;
}

const INTERVAL_MS = 1_000;
const GET_TIMEOUT_MS = 5_000;
/** As many as a message names. */
const MAX_REFERRERS_PER_KIND = 3;

/**
 * Finds configs that are in use and being deleted. A config with finalizers outlives its allowed deletion, and a
 * node can still move to it. The API server asks no webhook again when the last finalizer is removed.
 */
export class TerminatingConfigDetector {
  readonly #options: TerminatingConfigDetectorOptions;
  /** By uid, because a config can be created again. */
  #findings = new Map<string, TerminatingFinding>();

  constructor(options: TerminatingConfigDetectorOptions) {
    this.#options = options;
  }

  get findings(): readonly TerminatingFinding[] {
    return [...this.#findings.values()];
  }

  /** Checks repeatedly until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.check(signal);
      await sleep(INTERVAL_MS, signal);
    }
  }

  async check(signal: AbortSignal): Promise<void> {
    const { index, configs, log, onFound } = this.#options;
    if (!index.isSynced || !configs.isSynced) return;
    const findings = new Map<string, TerminatingFinding>();
    for await (const [config] of inSlices(configs.terminating(), 1)) {
      if (config === undefined) continue;
      const { name, uid } = config;
      const { strong } = summarizeReferences(name, index.findReferrers(name), MAX_REFERRERS_PER_KIND);
      if (strong.total === 0) continue;
      const isKnown = this.#findings.has(uid);
      if (!isKnown && !(await this.#isTerminating(config, signal))) continue;
      const finding = { config: name, uid, references: strong };
      findings.set(uid, finding);
      if (isKnown) continue;
      log.warn({ config: name }, `in use and being deleted: ${describeTerminating(finding)}`);
      onFound?.(finding);
    }
    for (const [uid, { config }] of this.#findings) {
      if (!findings.has(uid)) log.info({ config }, `no longer in use and being deleted: ${config}`);
    }
    this.#findings = findings;
  }

  /** Confirms with a GET that a config is being deleted. If the GET fails, the next check retries. */
  async #isTerminating({ name, uid }: WatchedConfig, signal: AbortSignal): Promise<boolean> {
    try {
      const object = await withTimeout(GET_TIMEOUT_MS, signal, (limited) =>
        getConfig(this.#options.api, name, limited),
      );
      if (object === undefined) return false;
      const current = MACHINE_CONFIGS.parse(object);
      return current.uid === uid && current.isTerminating;
    } catch {
      return false;
    }
  }
}

/** Returns a phrase without a period. */
export function describeTerminating({ config, references }: TerminatingFinding): string {
  return `${config}, referenced by ${formatReferrers(references)}`;
}

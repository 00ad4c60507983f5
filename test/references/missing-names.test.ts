import { expect, test } from 'vitest';
import { ApiError } from '../../src/kube/errors.ts';
import { DanglingReferenceDetector } from '../../src/references/dangling-reference-detector.ts';
import type { ReferenceIndex } from '../../src/references/reference-index.ts';
import { type ConfigName, toConfigName } from '../../src/decision/config-name.ts';
import { parseNodeReferrer } from '../../src/references/parse-referrer.ts';
import { memoryLog } from '../support/log.ts';

/** Counts how often somebody goes through all of it, as one does who compares a name with each. */
class CountedNames extends Set<ConfigName> {
  readonly #count: () => void;

  constructor(names: readonly string[], count: () => void) {
    super(names.map((name) => toConfigName(name)));
    this.#count = count;
  }

  override [Symbol.iterator](): SetIterator<ConfigName> {
    this.#count();
    return super[Symbol.iterator]();
  }
}

function hash(digit: string): string {
  return digit.repeat(32).slice(0, 32);
}

/** Nodes that name missing configs, so many different ones, in a cluster with one config. */
function watching(nodes: number, missing: number) {
  const existing = [`rendered-worker-${hash('a')}`];
  let passes = 0;
  const referrers = Array.from({ length: nodes }, (_, index) =>
    parseNodeReferrer({
      metadata: {
        name: `worker-${index}`,
        annotations: {
          'machineconfiguration.openshift.io/currentConfig': `rendered-worker-${hash(`0${index % missing}`)}`,
        },
      },
    }),
  );
  const health = new DanglingReferenceDetector({
    api: { json: async () => await Promise.reject(new ApiError(404, 'NotFound', 'there is none')) },
    index: { isSynced: true, referrers: () => referrers } as unknown as ReferenceIndex,
    configs: {
      isSynced: true,
      names: () => new CountedNames(existing, () => (passes += 1)),
      deletedAt: () => undefined,
    },
    log: memoryLog().log,
  });
  return {
    existing,
    health,
    look: async () => {
      passes = 0;
      await health.check(new AbortController().signal);
      return passes;
    },
  };
}

test('each missing name is compared with the others once, however many references there are and however often one looks', async () => {
  const { health, look } = watching(1_000, 10);
  // One more, to see whether the names are still those of the last time.
  expect(await look()).toBeLessThanOrEqual(11);
  expect(await look()).toBeLessThanOrEqual(1);
  expect(health.findings).toHaveLength(1_000);
});

test('a config that comes into being is suggested where it is near', async () => {
  const { existing, health, look } = watching(2, 1);
  await look();
  expect(health.findings.map(({ suggestion }) => suggestion)).toEqual([undefined, undefined]);
  const near = `rendered-wroker-${hash('00')}`;
  existing.push(near);
  await look();
  expect(health.findings.map(({ suggestion }) => suggestion)).toEqual([near, near]);
});

test('others have their turn before each comparison', async () => {
  const { existing, look } = watching(50, 50);
  await look();
  existing.push(`rendered-infra-${hash('b')}`);
  let [turns, ended] = [0, false];
  const others = (): void => {
    turns += 1;
    if (!ended) setImmediate(others);
  };
  setImmediate(others);
  await look();
  ended = true;
  expect(turns).toBeGreaterThanOrEqual(50);
});

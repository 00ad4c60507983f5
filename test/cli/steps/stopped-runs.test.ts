import { expect, test } from 'vitest';
import { restore } from '../../../src/cli/restore/restore-run.ts';
import type { StepReport } from '../../../src/cli/steps/step-run.ts';
import { uninstall } from '../../../src/cli/uninstall/uninstall-run.ts';
import { InMemoryCluster } from '../../support/in-memory-cluster/in-memory-cluster.ts';
import { createConfigOnDisk } from '../../support/config-on-disk.ts';
import { operatorAnnotations, roleLabels } from '../../support/operator-objects.ts';
import { createGuardedCluster, listInstalled } from '../uninstall/guarded-cluster.ts';
import { skipWaits, type Stop, StoppingApi, STOPS } from './stopping-api.ts';
import { PAUSED_FOR_RESTORE } from '../../../src/api/annotations.ts';

interface Outcome {
  readonly report: { readonly ok: boolean; readonly written: boolean; readonly problem: string | null };
  readonly steps: readonly StepReport[];
  readonly failure: Error | undefined;
}

interface Scenario {
  readonly cluster: InMemoryCluster;
  readonly run: (api: StoppingApi) => Promise<Outcome>;
  /** The descriptions of the steps whose effect the cluster has. */
  readonly listEffects: () => readonly string[];
}

function createUninstall(): Scenario {
  const cluster = createGuardedCluster();
  const all = listInstalled(cluster);
  return {
    cluster,
    run: async (api) => {
      const { report, failure } = await uninstall(api.client, { isConfirmed: true, signal: api.signal });
      return { report, failure, steps: report.steps };
    },
    listEffects: () => {
      const existing = listInstalled(cluster);
      return all.filter((title) => !existing.includes(title)).map((title) => `delete ${title}`);
    },
  };
}

const MISSING = createConfigOnDisk('master');
const RENDERED = createConfigOnDisk('master');

/** Two masters are Degraded. The third joins once the pool's status names the config. */
function createRestore(): Scenario {
  const cluster = new InMemoryCluster();
  const addNode = (name: string, state: string): void => {
    const annotations = operatorAnnotations({ currentConfig: MISSING.name, desiredConfig: MISSING.name, state });
    cluster.create('nodes', { metadata: { name, labels: roleLabels('master'), annotations } });
  };
  cluster.create('machineconfigs', { metadata: { name: RENDERED.name }, spec: {} });
  const nodeSelector = { matchLabels: roleLabels('master') };
  const spec = { configuration: { name: RENDERED.name }, nodeSelector, paused: false };
  cluster.create('machineconfigpools', { metadata: { name: 'master' }, spec, status: { updatedMachineCount: 0 } });
  addNode('control1', 'Degraded');
  addNode('control2', 'Degraded');
  let hasEverPaused = false;
  const getPool = () => cluster.require('machineconfigpools', 'master', '');
  const getServed = () => (getPool()['status'] as { configuration?: { name?: string } }).configuration?.name;
  const isPaused = () => getPool().metadata.annotations?.[PAUSED_FOR_RESTORE] !== undefined;
  cluster.watch(({ resource, type }) => {
    if (resource === 'machineconfigs' && type === 'ADDED') {
      const annotations = operatorAnnotations({ state: 'Done' });
      for (const name of ['control1', 'control2']) cluster.patch('nodes', name, { metadata: { annotations } });
    }
    if (resource !== 'machineconfigpools') return;
    hasEverPaused ||= isPaused();
    if (getServed() === MISSING.name && cluster.get('nodes', 'control3') === undefined) addNode('control3', 'Done');
  });
  return {
    cluster,
    run: async (api) => {
      const options = { configs: [MISSING.config], isConfirmed: true, acceptContent: false, timeoutMs: 60_000 };
      const { report, failure } = await restore(api.client, {
        ...options,
        controlPlaneReplicas: 3,
        signal: api.signal,
      });
      // A pool that stays paused is never left out.
      if (isPaused()) expect(report.pausedPools.map(({ name }) => name)).toEqual(['master']);
      return { report, failure, steps: report.configs.flatMap(({ steps }) => steps) };
    },
    listEffects: () => [
      ...(hasEverPaused ? ['pause pool master'] : []),
      ...(cluster.get('machineconfigs', MISSING.name) === undefined
        ? []
        : [`create ${MISSING.name}, owned by pool master`]),
      ...(hasEverPaused && !isPaused() ? ['unpause pool master'] : []),
    ],
  };
}

const EXIT_CODES: Readonly<Record<Stop, number>> = {
  403: 3,
  409: 3,
  503: 3,
  'connection lost': 3,
  'response lost': 3,
  'Ctrl-C': 130,
};

const WRITE = /^(?:create|delete|pause|unpause) /;

const RUNS = [
  ['uninstall', createUninstall],
  ['restore', createRestore],
] as const;

test.each(RUNS.flatMap(([command, create]) => STOPS.map((stop) => [command, stop, create] as const)))(
  '%s reports the truth after each request that ends with %s, and the next run finishes',
  async (_command, stop, create) => {
    skipWaits();
    const full = create();
    const complete = new StoppingApi(full.cluster);
    const { report, steps } = await full.run(complete);
    expect(report).toMatchObject({ ok: true, written: true, problem: null });
    expect(new Set(steps.map(({ state }) => state))).toEqual(new Set(['done']));
    let reports = 0;

    for (let after = 0; after < complete.requests.length; after += 1) {
      const scenario = create();
      const api = new StoppingApi(scenario.cluster, stop, after);
      const outcome = await scenario.run(api).catch((error: unknown) => error as Error);
      const effects = scenario.listEffects();
      // Before the plan there is only the error.
      if (outcome instanceof Error) expect([effects, api.listWrites()]).toEqual([[], []]);
      else {
        reports += 1;
        expect(outcome.report).toMatchObject({ ok: false, problem: expect.stringMatching(/\S/) });
        expect(outcome.failure).toMatchObject({ exitCode: EXIT_CODES[stop] });
        const list = (wanted: StepReport['state']) =>
          outcome.steps.filter(({ state }) => state === wanted).map(({ description }) => description);
        const [done, failed] = [list('done'), list('failed')];
        // The run stopped at most once. Whether that step had an effect is unknown if a response was lost.
        expect(failed.length).toBeLessThanOrEqual(1);
        expect(failed.length > 0 || !outcome.report.written).toBe(true);
        expect(done.filter((text) => WRITE.test(text) && !effects.includes(text))).toEqual([]);
        expect(effects.filter((effect) => !done.includes(effect) && !failed.includes(effect))).toEqual([]);
        if (effects.length > 0) expect(outcome.report.written).toBe(true);
        // The API server has rejected the write.
        else if (stop === '403') expect(outcome.report.written).toBe(false);
      }

      const next = await scenario.run(new StoppingApi(scenario.cluster));
      expect(next.report).toMatchObject({ ok: true, problem: null });
      expect(scenario.listEffects()).toEqual(full.listEffects());
    }
    expect(reports).toBeGreaterThan(complete.requests.length / 3);
  },
);

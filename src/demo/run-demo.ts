import { type Authority, createAuthority } from '../certificates/authority.ts';
import type { NamedReference } from '../decision/references.ts';
import type { Verdict } from '../decision/verdict.ts';
import { type CheckReport, checkCluster } from '../cli/check/check-cluster.ts';
import { parseRenderedConfig } from '../rendered-config/rendered-config.ts';
import type { RestoreReport } from '../cli/restore/restore-report.ts';
import { restore } from '../cli/restore/restore-run.ts';
import type { AnsweredCall } from '../webhook/admission-app.ts';
import type { JudgedReview } from '../webhook/judged-review.ts';
import { withDemoCluster } from './demo-cluster.ts';
import type { SimulationOptions } from './operator/simulation.ts';
import { replayDeletedConfig } from './story/deleted-config.ts';
import type { InstallResult } from './story/install.ts';
import { MISSING_CONFIG, startMissingConfigInstall } from './story/missing-config.ts';

export type DemoStory = 'unguarded' | 'guarded' | 'restored';

export interface DemoOptions extends Pick<SimulationOptions, 'speed' | 'onEvent'> {
  readonly onStory?: (story: DemoStory) => void;
  readonly onCheck?: (report: CheckReport) => void;
  /** The command line without the name of the program. */
  readonly onRestore?: (command: string) => void;
}

export interface DemoDecision extends Pick<Verdict, 'outcome' | 'code'> {
  readonly name: string;
  readonly referrers: readonly Pick<NamedReference, 'kind' | 'name' | 'field'>[];
  readonly ms: number;
}

export interface DemoRun extends InstallResult {
  readonly guard: boolean;
  readonly decisions: readonly DemoDecision[];
}

/** An install that was stuck until a config was restored. */
export interface DemoRestore extends InstallResult {
  /** The config that was never in the API. */
  readonly missing: string;
  readonly stuck: Omit<InstallResult, 'events'>;
  readonly check: CheckReport;
  readonly restore: RestoreReport;
}

/** `demo --output json`. */
export interface DemoReport {
  readonly speed: number;
  /** Whether the install is stuck without the guard and without the restore, and completes with them. */
  readonly asExpected: boolean;
  readonly runs: readonly DemoRun[];
  readonly restored: DemoRestore;
}

const CERTIFICATE_DAYS = 1;
/** A master that has booted with the missing config. */
const SOURCE_NODE = 'control1';
const MASTER_COUNT = 3;
const RESTORE_TIMEOUT_MS = 600_000;
/** Longer than any real pause, so the result does not depend on the machine. */
const RESTORE_INTERVAL_MS = 10_000;

export async function runDemo(options: DemoOptions): Promise<DemoReport> {
  const authority = await createAuthority({ days: CERTIFICATE_DAYS, now: new Date() });
  const unguarded = await runDeletion(false, authority, options);
  const guarded = await runDeletion(true, authority, options);
  const restored = await runRestore(authority, options);
  const asExpected =
    unguarded.outcome === 'deadlock' &&
    guarded.outcome === 'completed' &&
    restored.stuck.outcome === 'deadlock' &&
    restored.outcome === 'completed';
  return { speed: options.speed, asExpected, runs: [unguarded, guarded], restored };
}

async function runDeletion(isGuarded: boolean, authority: Authority, options: DemoOptions): Promise<DemoRun> {
  const { speed, onEvent, onStory } = options;
  return await withDemoCluster(authority, async ({ server, api, addGuard }) => {
    const decisions: DemoDecision[] = [];
    if (isGuarded) await addGuard((...answer) => decisions.push(toDemoDecision(...answer)));
    onStory?.(isGuarded ? 'guarded' : 'unguarded');
    const result = await replayDeletedConfig({ api, cleanUpApi: api, server, speed, onEvent });
    return { guard: isGuarded, ...result, decisions };
  });
}

async function runRestore(authority: Authority, options: DemoOptions): Promise<DemoRestore> {
  const { speed, onEvent, onStory, onCheck, onRestore } = options;
  return await withDemoCluster(authority, async ({ server, api, addGuard }) => {
    await addGuard(() => {});
    onStory?.('restored');
    const install = startMissingConfigInstall({ api, server, speed, onEvent });
    const { simulation } = install;
    const { events: _events, ...stuck } = await install.run();
    const check = await checkCluster(api);
    onCheck?.(check);
    const source = `node/${SOURCE_NODE}`;
    onRestore?.(`restore --from ${source} --confirm`);
    const { result, ...end } = await install.runWith((sleep) =>
      restore(api, {
        // The machine-config-server wrote it to /etc/mcs-machine-config-content.json of the node.
        configs: [parseRenderedConfig(JSON.stringify(simulation.disks.get(SOURCE_NODE)), source)],
        isConfirmed: true,
        acceptContent: false,
        controlPlaneReplicas: MASTER_COUNT,
        timeoutMs: RESTORE_TIMEOUT_MS,
        intervalMs: RESTORE_INTERVAL_MS,
        sleep,
        onProgress: (text) => simulation.record('restore', text),
      }),
    );
    return { ...end, missing: MISSING_CONFIG.metadata.name, stuck, check, restore: result };
  });
}

function toDemoDecision({ verdict }: JudgedReview, { ms }: AnsweredCall): DemoDecision {
  const { config: name = '', outcome, code } = verdict;
  const referrers = verdict.references.map(({ kind, name, field }) => ({ kind, name, field }));
  return { name, outcome, code, referrers, ms: Math.round(ms * 10) / 10 };
}

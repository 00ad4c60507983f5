import { type Authority, createAuthority } from '../certificates/authority.ts';
import type { NamedReference } from '../decision/references.ts';
import type { Verdict } from '../decision/verdict.ts';
import type { Decision } from '../webhook/decision.ts';
import { withDemoCluster } from './demo-cluster.ts';
import type { SimulationOptions } from './operator/simulation.ts';
import { replayDeletedConfig } from './story/deleted-config.ts';
import type { InstallResult } from './story/install.ts';

export interface DemoOptions extends Pick<SimulationOptions, 'speed' | 'onEvent'> {
  readonly onRun?: (isGuarded: boolean) => void;
}

export interface DemoDecision extends Pick<Decision, 'name' | 'user'>, Pick<Verdict, 'outcome' | 'code'> {
  readonly referrers: readonly Pick<NamedReference, 'kind' | 'name' | 'field'>[];
  readonly ms: number;
}

export interface DemoRun extends InstallResult {
  readonly guard: boolean;
  readonly decisions: readonly DemoDecision[];
}

/** `demo --output json`. */
export interface DemoReport {
  readonly speed: number;
  /** Whether only the run without the guard ended in a deadlock. */
  readonly asExpected: boolean;
  readonly runs: readonly DemoRun[];
}

const CERTIFICATE_DAYS = 1;

export async function runDemo(options: DemoOptions): Promise<DemoReport> {
  const authority = await createAuthority({ days: CERTIFICATE_DAYS, now: new Date() });
  const unguarded = await runDeletion(false, authority, options);
  const guarded = await runDeletion(true, authority, options);
  const asExpected = unguarded.outcome === 'deadlock' && guarded.outcome === 'completed';
  return { speed: options.speed, asExpected, runs: [unguarded, guarded] };
}

async function runDeletion(
  isGuarded: boolean,
  authority: Authority,
  { onRun, ...simulationOptions }: DemoOptions,
): Promise<DemoRun> {
  return await withDemoCluster(authority, async ({ server, operatorApi: api, cleanUpApi, addGuard }) => {
    const decisions: DemoDecision[] = [];
    if (isGuarded) await addGuard((decision) => decisions.push(toDemoDecision(decision)));
    onRun?.(isGuarded);
    const result = await replayDeletedConfig({ ...simulationOptions, api, cleanUpApi, server });
    return { guard: isGuarded, ...result, decisions };
  });
}

function toDemoDecision({ name, user, verdict, ms }: Decision): DemoDecision {
  const referrers = verdict.references.map(({ kind, name, field }) => ({ kind, name, field }));
  return { name, user, outcome: verdict.outcome, code: verdict.code, referrers, ms: Math.round(ms * 10) / 10 };
}

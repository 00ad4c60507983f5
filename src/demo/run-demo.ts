import { pino } from 'pino';
import { type Authority, createAuthority } from '../certificates/authority.ts';
import { issueLeaf } from '../certificates/leaf.ts';
import { createFixedCertificate } from '../certificates/serving-certificate.ts';
import type { NamedReference } from '../decision/references.ts';
import type { Verdict } from '../decision/verdict.ts';
import { DEFAULT_SETTINGS } from '../decision/settings.ts';
import { type Guard, startGuard } from '../guard/guard.ts';
import { buildWebhookConfiguration } from '../install/webhook-configuration.ts';
import { KubeApi } from '../kube/api.ts';
import { connectionFromKubeconfig } from '../kube/connection.ts';
import type { Decision } from '../webhook/decision.ts';
import { startApiServer } from './cluster/api-server.ts';
import { InMemoryCluster } from './cluster/in-memory-cluster.ts';
import { type Replay, replayIncidentA } from './story/replay.ts';
import type { StoryOptions } from './story/story.ts';

export interface DemoOptions extends Pick<StoryOptions, 'speed' | 'onEvent'> {
  readonly onRun?: (isGuarded: boolean) => void;
}

export interface DemoDecision extends Pick<Decision, 'name' | 'user'>, Pick<Verdict, 'outcome' | 'code'> {
  readonly referrers: readonly Pick<NamedReference, 'kind' | 'name' | 'field'>[];
  readonly ms: number;
}

export interface DemoRun extends Replay {
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

const SERVICE_ACCOUNT = 'system:serviceaccount:machineconfig-guard:machineconfig-guard';
const HOST = '127.0.0.1';
const CERTIFICATE_DAYS = 1;
const READY_TIMEOUT_MS = 10_000;

export async function runDemo(options: DemoOptions): Promise<DemoReport> {
  const authority = await createAuthority({ days: CERTIFICATE_DAYS, now: new Date() });
  const unguarded = await replay(false, authority, options);
  const guarded = await replay(true, authority, options);
  const asExpected = unguarded.outcome === 'deadlock' && guarded.outcome === 'completed';
  return { speed: options.speed, asExpected, runs: [unguarded, guarded] };
}

async function replay(isGuarded: boolean, authority: Authority, options: DemoOptions): Promise<DemoRun> {
  const { onRun, ...storyOptions } = options;
  const cluster = new InMemoryCluster();
  const server = await startApiServer(cluster, authority);
  const decisions: DemoDecision[] = [];
  const api = new KubeApi(connectionFromKubeconfig(server.kubeconfigFor(SERVICE_ACCOUNT)));
  let guard: Guard | undefined;
  try {
    if (isGuarded) {
      guard = await startRealGuard(api, authority, (decision) => decisions.push(toDemoDecision(decision)));
      await guard.whenReady(AbortSignal.timeout(READY_TIMEOUT_MS));
      registerGuard(cluster, guard, authority);
    }
    onRun?.(isGuarded);
    return { guard: isGuarded, ...(await replayIncidentA({ cluster, server, ...storyOptions })), decisions };
  } finally {
    await guard?.stop();
    api.close();
    await server.stop();
  }
}

async function startRealGuard(
  api: KubeApi,
  authority: Authority,
  onDecision: (decision: Decision) => void,
): Promise<Guard> {
  const names = { dnsNames: [], ipAddresses: [HOST] };
  const leaf = await issueLeaf({ authority, ...names, days: CERTIFICATE_DAYS, now: new Date() });
  return await startGuard({
    api,
    certificate: createFixedCertificate(leaf),
    // The guard would warn of the outage in the story.
    log: pino({ level: 'silent' }),
    bindAddress: HOST,
    securePort: 0,
    healthPort: 0,
    shutdownDelayMs: 0,
    settings: () => ({ ...DEFAULT_SETTINGS, holdSupersededMs: 0 }),
    onDecision,
  });
}

function registerGuard(cluster: InMemoryCluster, guard: Guard, authority: Authority): void {
  const url = `https://${HOST}:${guard.ports.securePort}/validate`;
  const caBundle = Buffer.from(authority.certificatePem).toString('base64');
  const configuration = buildWebhookConfiguration({ clientConfig: { url, caBundle }, failurePolicy: 'Fail' });
  cluster.create('validatingwebhookconfigurations', configuration);
}

function toDemoDecision({ name, user, verdict, ms }: Decision): DemoDecision {
  const referrers = verdict.references.map(({ kind, name, field }) => ({ kind, name, field }));
  return { name, user, outcome: verdict.outcome, code: verdict.code, referrers, ms: Math.round(ms * 10) / 10 };
}

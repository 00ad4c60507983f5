import { type OpenMetricsContentType, Registry } from 'prom-client';
import type { Logger } from 'pino';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import type { ServingCertificate } from '../certificates/key-pair.ts';
import { DEFAULT_SETTINGS, type FollowedSettings } from '../api/settings.ts';
import type { KubeApi } from '../kube/api.ts';
import { EventRecorder } from '../kube/event-recorder.ts';
import { Replaceable } from '../common/replaceable.ts';
import { NEVER_ABORTED, sleep, waitOrAbort, withTimeout } from '../common/wait.ts';
import { createAdmissionApp } from '../review/admission-app.ts';
import { ConnectionLimiter } from '../serving/connection-limiter.ts';
import { createHealthServer } from '../serving/health-server.ts';
import { createMetricsApp } from '../serving/metrics-app.ts';
import { Metrics } from '../status/metrics.ts';
import { INTERMEDIATE, type TlsPolicy } from '../serving/tls-profile.ts';
import { close, createTlsServer, listen } from '../serving/tls-server.ts';
import { AnswerRecorder } from '../review/answer-recorder.ts';
import { SettingsFollower, type SettingsFollowerOptions } from './settings-follower.ts';
import { StatusReporter, type StatusReporterOptions } from '../status/status-reporter.ts';
import { TlsProfileFollower } from './tls-profile-follower.ts';
import { INSTALLED_NAME } from '../api/paths.ts';
import { createJudge } from './create-judge.ts';
import { ScrapeAuthorizer } from '../serving/scrape-authorizer.ts';
import { findCurrentSettings } from '../review/decide.ts';

export interface GuardOptions {
  readonly api: KubeApi;
  readonly certificate: ServingCertificate;
  readonly log: Logger;
  readonly bindAddress?: string | undefined;
  readonly securePort: number;
  readonly healthPort: number;
  readonly metricsPort?: number;
  readonly tlsPolicy?: TlsPolicy | undefined;
  /** Milliseconds to serve after becoming unready, while endpoints are updated. */
  readonly shutdownDelayMs: number;
  /** The defaults if absent. `object` is the MachineConfigGuard. */
  readonly settings?: FollowedSettings & Partial<Pick<SettingsFollower, 'object'>>;
  /** If present, the guard writes the status of the MachineConfigGuard. */
  readonly status?: Pick<StatusReporterOptions, 'leaseNamespace' | 'leaseHolder' | 'tlsProfile'>;
}

/** The `reportingController` of the guard's Events. */
const EVENT_CONTROLLER = 'machineconfig-guard.io/guard';
export const FLUSH_TIMEOUT_MS = 2_000;
const READY_INTERVAL_MS = 10;
/** How long after the start the reviews wait for the first lists, so that they need none of their own. */
const FIRST_LISTS_MS = 1_000;
export const SCRAPE_DRAIN_TIMEOUT_MS = 1_000;
/**
 * An API server opens a connection for each open call and keeps 25 idle ones (kubernetes,
 * apimachinery/pkg/util/net/http.go). So 450 deletions can wait for an answer at the same time. A flooded connection
 * costs about 200 kB, which the process partly keeps.
 */
export const MAX_CONNECTIONS = 500;
export const MAX_SCRAPE_CONNECTIONS = 100;

export interface Guard {
  /** The ports on which it listens. `metricsPort` is undefined if it serves no metrics. */
  readonly ports: Readonly<Record<'securePort' | 'healthPort', number> & { metricsPort: number | undefined }>;
  /** Resolves when every kind was listed, or cannot be. Rejects with the signal's reason. */
  readonly whenReady: (until: AbortSignal) => Promise<void>;
  /** Becomes unready, serves for the shutdown delay, finishes the open requests and ends. Never rejects. */
  readonly stop: () => Promise<void>;
}

/**
 * Connects all parts of the guard for `serve` and the demo, and starts it. @throws ListenError
 */
export async function startGuard(options: GuardOptions): Promise<Guard> {
  const { api, log, certificate, status, bindAddress, securePort, healthPort, metricsPort } = options;
  const { settings: followed = { settings: DEFAULT_SETTINGS }, tlsPolicy = new Replaceable(INTERMEDIATE) } = options;
  const settings = () => findCurrentSettings(followed);
  const serving = { isDraining: false };
  const { judge, index, configs, live, history } = createJudge({ api, log, settings: followed });
  const events = new EventRecorder({ api, log, controller: EVENT_CONTROLLER, namePrefix: INSTALLED_NAME });
  const registry = new Registry<OpenMetricsContentType>();
  const now = api.now.bind(api);
  const answers = new AnswerRecorder({ log, registry, events, now });
  const metrics = new Metrics({
    registry,
    index,
    live,
    certificate,
    settings: followed,
    now,
    reporter: () => reporter,
  });
  const onTaskFailure = metrics.countTaskFailure.bind(metrics);
  const stored = () => followed.object;
  const reported = { api, log, index, configs, history, events, certificate, settings, stored, answers };

  const reporter =
    status === undefined ? undefined : new StatusReporter({ ...reported, now, onTaskFailure, ...status });
  const describeUnreadiness = (): string | undefined => {
    if (serving.isDraining) return 'stopping';
    // An object that no guard can read must not keep the modes and overrides from working.
    const untried = index.reflectors.filter((each) => !each.isSynced && each.contentProblem === undefined);
    if (untried.length > 0) return `not listed yet: ${untried.map(({ resource }) => resource.name).join(', ')}`;
    return followed.settings === undefined ? 'machineconfigguard not read yet' : undefined;
  };

  const whenReady = async (until: AbortSignal): Promise<void> => {
    while (describeUnreadiness() !== undefined) {
      until.throwIfAborted();
      await sleep(READY_INTERVAL_MS, until);
    }
  };
  const background = new AbortController();
  const { signal } = background;
  const started = withTimeout(FIRST_LISTS_MS, signal, whenReady).catch(() => {});

  const app = createAdmissionApp({ judge, settings: followed, log, serving, started, recorder: answers });
  const tls = { certificate, tlsPolicy, log };
  const webhookServer = createTlsServer({ ...tls, app, connections: new ConnectionLimiter(MAX_CONNECTIONS) });
  const metricsApp = createMetricsApp({ metrics, authorizer: new ScrapeAuthorizer(api), log });
  const scrapes = new ConnectionLimiter(MAX_SCRAPE_CONNECTIONS);
  const metricsServer = createTlsServer({ ...tls, app: metricsApp, connections: scrapes });
  const healthServer = createHealthServer(describeUnreadiness);
  const closeOthers = async (drainTimeoutMs: number): Promise<unknown> =>
    await Promise.all([close(metricsServer, drainTimeoutMs), close(healthServer, 0)]);
  const listenOnPorts = async () => ({
    securePort: await listen(webhookServer, securePort, bindAddress),
    metricsPort: metricsPort === undefined ? undefined : await listen(metricsServer, metricsPort, bindAddress),
    // The last one: a guard that can answer probes serves.
    healthPort: await listen(healthServer, healthPort, bindAddress),
  });
  const ports = await listenOnPorts().catch(async (error: unknown) => {
    background.abort();
    await Promise.all([close(webhookServer), closeOthers(0)]);
    throw error;
  });
  log.info(ports, 'listening');
  const backgroundWork = Promise.all([index.run(signal), configs.run(signal), reporter?.run(signal)]);

  const finish = async (): Promise<void> => {
    serving.isDraining = true;
    await sleep(options.shutdownDelayMs, NEVER_ABORTED);
    await close(webhookServer);
    await withTimeout(FLUSH_TIMEOUT_MS, NEVER_ABORTED, (limited) => waitOrAbort(events.flush(), limited)).catch(
      () => {},
    );
    background.abort();
    await backgroundWork;
    await closeOthers(SCRAPE_DRAIN_TIMEOUT_MS);
  };
  let stopped: Promise<void> | undefined;
  return {
    ports,
    whenReady,
    async stop(): Promise<void> {
      await (stopped ??= finish());
    },
  };
}

export interface RunGuardOptions extends Omit<GuardOptions, 'certificate' | 'settings' | 'status' | 'tlsPolicy'> {
  readonly loadCertificate: (signal: AbortSignal) => Promise<ServingCertificate>;
  readonly initialSpec: SettingsFollowerOptions['initialSpec'];
  /** The default is the namespace of the pod. */
  readonly leaseNamespace: string | undefined;
}

/**
 * Runs a guard that follows its settings, its certificate and the TLS profile of the cluster, until it has stopped.
 * @throws ListenError, and what `loadCertificate` throws
 */
export async function runGuard(
  { loadCertificate, initialSpec, leaseNamespace, ...options }: RunGuardOptions,
  stopSignal: Promise<unknown>,
): Promise<void> {
  const { api, log } = options;
  // A stopping guard needs its settings and its certificate until its last answer.
  const followers = new AbortController();
  const { signal } = followers;
  try {
    const certificate = await Promise.race([loadCertificate(signal), stopSignal.then(() => undefined)]);
    if (certificate === undefined) return;
    const settings = new SettingsFollower({ api, log, initialSpec });
    void settings.run(signal);
    const tlsPolicy = new TlsProfileFollower({ api, log });
    void tlsPolicy.run(signal);
    const podNamespace = await readPodNamespace();
    const guard = await startGuard({
      ...options,
      certificate,
      settings,
      status: {
        leaseNamespace: leaseNamespace ?? podNamespace ?? INSTALLED_NAME,
        // In a pod, the hostname is the name of the pod, or on the host network that of the node. A restarted container
        // has the same one, so it need not wait for the Lease.
        leaseHolder: podNamespace === undefined ? `${hostname()}_${randomUUID()}` : hostname(),
        tlsProfile: () => tlsPolicy.followed(),
      },
      tlsPolicy,
    });
    const logReady = (): void => log.info(guard.ports, 'ready');
    void guard.whenReady(signal).then(logReady, () => {});
    await stopSignal;
    await guard.stop();
  } finally {
    followers.abort();
  }
}

async function readPodNamespace(): Promise<string | undefined> {
  const file = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';
  const text = (await readFile(file, 'utf8').catch(() => '')).trim();
  return text === '' ? undefined : text;
}

import type { Logger } from 'pino';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import type { ServingCertificate } from '../certificates/key-pair.ts';
import { DEFAULT_SETTINGS } from '../decision/settings.ts';
import type { KubeApi } from '../kube/api.ts';
import { EventRecorder } from '../kube/event-recorder.ts';
import type { ReflectorTiming } from '../kube/reflector.ts';
import { Replaceable } from '../common/replaceable.ts';
import { NEVER_ABORTED, sleep, waitOrAbort, withTimeout } from '../common/wait.ts';
import type { ConfigIndex, ReferenceIndex } from '../references/reference-index.ts';
import { REFERRER_RESOURCES } from '../references/sources.ts';
import { createAdmissionApp } from '../webhook/admission-app.ts';
import { ConnectionLimiter } from '../webhook/connection-limiter.ts';
import { HealthServer } from '../webhook/health-server.ts';
import { createMetricsApp } from '../webhook/metrics-app.ts';
import { Metrics } from '../webhook/metrics.ts';
import { ScrapeAuthorizer } from '../webhook/scrape-authorizer.ts';
import { INTERMEDIATE, type TlsParameters, type TlsPolicy } from '../webhook/tls-profile.ts';
import { TlsServer } from '../webhook/tls-server.ts';
import { AnswerRecorder } from './answer-recorder.ts';
import { createJudge } from './judge.ts';
import { SettingsFollower, type SettingsFollowerOptions } from './settings-follower.ts';
import { findStalledRestores } from '../status/describe-status.ts';
import { StatusReporter, type StatusReporterOptions } from '../status/status-reporter.ts';
import { INSTALLED_NAME } from '../kube/api-paths.ts';
import { TlsProfileFollower } from './tls-profile-follower.ts';

export interface GuardOptions {
  readonly api: KubeApi;
  readonly certificate: ServingCertificate;
  readonly log: Logger;
  /** Undefined means all addresses, IPv4 and IPv6. */
  readonly bindAddress?: string | undefined;
  /** For each port 0 picks a free one. */
  readonly securePort: number;
  readonly healthPort: number;
  readonly metricsPort?: number;
  /** The default is OpenShift's Intermediate profile. */
  readonly tlsPolicy?: TlsPolicy | undefined;
  /** Milliseconds to serve after becoming unready, while endpoints are updated. */
  readonly shutdownDelayMs: number;
  readonly settings?: Pick<SettingsFollower, 'settings'> & Partial<Pick<SettingsFollower, 'object'>>;
  /** If present, the guard writes the status of the MachineConfigGuard. */
  readonly status?: Pick<StatusReporterOptions, 'leaseNamespace' | 'leaseHolder' | 'leaseTiming' | 'tlsProfile'>;
  readonly reflectorTiming?: ReflectorTiming;
}

type GuardPorts = Readonly<{ securePort: number; healthPort: number; metricsPort: number | undefined }>;

const FLUSH_TIMEOUT_MS = 2_000;
const READY_INTERVAL_MS = 20;
const SCRAPE_DRAIN_TIMEOUT_MS = 1_000;
/**
 * An API server opens a connection for each open call and keeps 25 idle ones (kubernetes,
 * apimachinery/pkg/util/net/http.go). So 450 deletions can wait for an answer at the same time. A flooded connection
 * costs about 200 kB, which the process partly keeps.
 */
const MAX_CONNECTIONS = 500;
const MAX_SCRAPE_CONNECTIONS = 100;

/** Connects all parts of the guard for `serve` and the demo. */
export class Guard {
  readonly #options: GuardOptions;
  readonly #settings: NonNullable<GuardOptions['settings']>;
  readonly #index: ReferenceIndex;
  readonly #configs: ConfigIndex;
  readonly #events: EventRecorder;
  readonly #webhookServer: TlsServer;
  readonly #healthServer: HealthServer;
  readonly #metrics: Metrics;
  readonly #metricsServer: TlsServer;
  readonly #reporter: StatusReporter | undefined;
  readonly #backgroundAbort = new AbortController();
  #ports: GuardPorts | undefined;
  #backgroundWork: Promise<unknown> = Promise.resolve();
  #isDraining = false;
  #stopPromise: Promise<void> | undefined;

  constructor(options: GuardOptions) {
    const { api, log, certificate, status, reflectorTiming } = options;
    const { settings: source = { settings: DEFAULT_SETTINGS }, tlsPolicy = new Replaceable(INTERMEDIATE) } = options;
    const settings = () => source.settings ?? DEFAULT_SETTINGS;
    this.#options = options;
    this.#settings = source;
    const parts = createJudge({ api, log, settings: () => source.settings, timing: reflectorTiming });
    const { judge, index, configs, live, facts } = parts;
    this.#index = index;
    this.#configs = configs;
    this.#events = new EventRecorder(api, log);
    this.#metrics = new Metrics({
      mode: () => settings().mode,
      danglingCount: () => this.#reporter?.danglingCount,
      protectedConfigs: () => this.#reporter?.protectedConfigs,
      resources: REFERRER_RESOURCES.map(({ name }) => name),
      unsynced: () => this.#index.unsynced,
      ages: () => this.#index.ages,
      referrers: () => this.#index.referrers(),
      stalledRestores: () => findStalledRestores(this.#index.referrers(), new Date()).length,
      liveReads: () => live.readCount,
      expiries: () => certificate.expiries(),
    });
    const recorder = new AnswerRecorder({
      log,
      metrics: this.#metrics,
      events: this.#events,
      recordAnswer: (judged) => this.#reporter?.recordAnswer(judged),
    });
    const connections = new ConnectionLimiter(MAX_CONNECTIONS);
    const app = createAdmissionApp({
      judge,
      connections,
      settings,
      log,
      isDraining: () => this.#isDraining,
      onAnswer: (judged, call) => {
        recorder.record(judged, call);
      },
    });
    const tls = { certificate, tlsPolicy, log };
    this.#webhookServer = new TlsServer({ ...tls, app, connections });
    if (status !== undefined) {
      this.#reporter = new StatusReporter({
        api,
        log,
        index,
        configs,
        facts,
        events: this.#events,
        certificate,
        settings,
        stored: () => source.object,
        onTaskError: (task, error) => {
          log.error({ err: error, task }, 'a background task failed; it runs again');
          this.#metrics.countTaskFailure(task);
        },
        ...status,
      });
    }
    const metricsApp = createMetricsApp({ metrics: this.#metrics, authorizer: new ScrapeAuthorizer(api), log });
    const scrapes = new ConnectionLimiter(MAX_SCRAPE_CONNECTIONS);
    this.#metricsServer = new TlsServer({ ...tls, app: metricsApp, connections: scrapes });
    this.#healthServer = new HealthServer(() => this.#describeUnreadiness());
  }

  get ports(): GuardPorts {
    if (this.#ports === undefined) throw new Error('the guard has not been started');
    return this.#ports;
  }

  /** Rejects with the system's error if a port cannot be used. */
  async start(): Promise<void> {
    const { bindAddress, healthPort, metricsPort, securePort, log } = this.#options;
    try {
      this.#ports = {
        healthPort: await this.#healthServer.listen(healthPort, bindAddress),
        metricsPort: metricsPort === undefined ? undefined : await this.#metricsServer.listen(metricsPort, bindAddress),
        securePort: await this.#webhookServer.listen(securePort, bindAddress),
      };
    } catch (error) {
      await Promise.all([this.#healthServer.close(), this.#metricsServer.close()]);
      throw error;
    }
    log.info(this.#ports, 'listening');
    const { signal } = this.#backgroundAbort;
    this.#backgroundWork = Promise.all([
      this.#index.run(signal),
      this.#configs.run(signal),
      this.#reporter?.run(signal),
    ]);
  }

  /** Waits until every kind was listed, or cannot be. Rejects with the signal's reason. */
  async whenReady(signal: AbortSignal): Promise<void> {
    while (this.#describeUnreadiness() !== undefined) {
      signal.throwIfAborted();
      await sleep(READY_INTERVAL_MS, signal);
    }
  }

  /**
   * Becomes unready, serves for the shutdown delay, finishes the open requests and ends. A second call waits
   * for the first.
   */
  async stop(): Promise<void> {
    this.#stopPromise ??= this.#stop();
    await this.#stopPromise;
  }

  async #stop(): Promise<void> {
    this.#isDraining = true;
    await sleep(this.#options.shutdownDelayMs, NEVER_ABORTED);
    await this.#webhookServer.close();
    const flush = (signal: AbortSignal) => waitOrAbort(this.#events.flush(), signal);
    await withTimeout(FLUSH_TIMEOUT_MS, NEVER_ABORTED, flush).catch(() => {});
    this.#backgroundAbort.abort();
    await this.#backgroundWork;
    await Promise.all([this.#healthServer.close(), this.#metricsServer.close(SCRAPE_DRAIN_TIMEOUT_MS)]);
  }

  #describeUnreadiness(): string | undefined {
    if (this.#isDraining) return 'stopping';
    if (this.#ports === undefined) return 'not listening yet';
    // An object that no guard can read must not keep the modes and overrides from working.
    const { untried } = this.#index;
    if (untried.length > 0) return `not listed yet: ${untried.join(', ')}`;
    return this.#settings.settings === undefined ? 'machineconfigguard not read yet' : undefined;
  }
}

export async function startGuard(options: GuardOptions): Promise<Guard> {
  const guard = new Guard(options);
  await guard.start();
  return guard;
}

export interface RunGuardOptions extends Pick<
  GuardOptions,
  'api' | 'log' | 'bindAddress' | 'securePort' | 'healthPort' | 'metricsPort' | 'shutdownDelayMs'
> {
  /** Resolves with a certificate that is followed until the signal aborts. */
  readonly loadCertificate: (signal: AbortSignal) => Promise<ServingCertificate>;
  readonly initialSpec: NonNullable<SettingsFollowerOptions['initialSpec']>;
  /** Undefined follows the TLS profile of the cluster. */
  readonly tlsParameters: TlsParameters | undefined;
  /** The default is the namespace of the pod. */
  readonly leaseNamespace: string | undefined;
}

/**
 * Runs a guard that follows its settings, its certificate and the TLS profile of the cluster, until it has stopped.
 *
 * @param stopSignal resolves when the guard must stop
 * @throws what `loadCertificate` throws, or the system's error if a port cannot be used
 */
export async function runGuard(
  { loadCertificate, initialSpec, tlsParameters, leaseNamespace, ...options }: RunGuardOptions,
  stopSignal: Promise<unknown>,
): Promise<void> {
  const { api, log } = options;
  // A stopping guard needs its settings and its certificate until its last answer.
  const followers = new AbortController();
  const { signal } = followers;
  try {
    const certificate = await Promise.race([loadCertificate(signal), stopSignal.then(() => undefined)]);
    // Stopped before the certificate was available.
    if (certificate === undefined) return;
    const settings = new SettingsFollower({ api, log, initialSpec });
    void settings.run(signal);
    const tlsProfile = tlsParameters === undefined ? new TlsProfileFollower({ api, log }) : undefined;
    void tlsProfile?.run(signal);
    const podNamespace = await readPodNamespace();
    const guard = new Guard({
      ...options,
      certificate,
      settings,
      status: {
        leaseNamespace: leaseNamespace ?? podNamespace ?? INSTALLED_NAME,
        // In a pod, the hostname is the name of the pod, or on the host network that of the node. A restarted container
        // has the same one, so it need not wait for the Lease.
        leaseHolder: podNamespace === undefined ? `${hostname()}_${randomUUID()}` : hostname(),
        tlsProfile: tlsProfile && (() => tlsProfile.followed()),
      },
      tlsPolicy: tlsParameters === undefined ? tlsProfile : new Replaceable(tlsParameters),
    });
    await guard.start();
    const logReady = (): void => log.info(guard.ports, 'ready');
    // Ignores the abort.
    void guard.whenReady(signal).then(logReady, () => {});
    await stopSignal;
    await guard.stop();
  } finally {
    followers.abort();
  }
}

/** Returns undefined outside of a pod. */
async function readPodNamespace(): Promise<string | undefined> {
  const file = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';
  const text = (await readFile(file, 'utf8').catch(() => '')).trim();
  return text === '' ? undefined : text;
}

import type { SecureVersion } from 'node:tls';
import type { Logger } from 'pino';
import { DEFAULT_SETTINGS, type Settings } from '../decision/settings.ts';
import type { Review } from '../decision/review.ts';
import type { KubeApi } from '../kube/api.ts';
import { EventRecorder } from '../kube/event-recorder.ts';
import type { LeaseTiming } from '../kube/lease.ts';
import { LiveReader } from '../references/live-reader.ts';
import { ReferenceIndex } from '../references/reference-index.ts';
import type { ReflectorTiming } from '../kube/reflector.ts';
import { REFERRER_RESOURCES } from '../references/sources.ts';
import { waitOrAbort, sleep } from '../kube/wait.ts';
import { createAdmissionApp } from '../webhook/admission-app.ts';
import { type Decision, logDecision } from '../webhook/decision.ts';
import { ExpiryLogger } from '../certificates/expiry-logger.ts';
import { HealthServer } from '../webhook/health-server.ts';
import { Judge } from './judge.ts';
import { createMetricsApp } from '../webhook/metrics-app.ts';
import { Metrics } from '../webhook/metrics.ts';
import { ScrapeAuthorizer } from '../webhook/scrape-authorizer.ts';
import { StatusReporter } from './status-reporter.ts';
import type { ServingCertificate } from '../certificates/serving-certificate.ts';
import { TlsServer } from '../webhook/tls-server.ts';

/** What a guard needs. */
export interface GuardOptions {
  readonly api: KubeApi;
  readonly certificate: ServingCertificate;
  readonly log: Logger;
  /** Address to listen on; undefined means every address, IPv4 and IPv6. */
  readonly bindAddress?: string | undefined;
  /** Ports; 0 picks a free one. */
  readonly securePort: number;
  readonly healthPort: number;
  /** Port of the metrics; undefined means none. */
  readonly metricsPort?: number;
  readonly minVersion?: SecureVersion;
  /** How long to go on serving after becoming unready, so that endpoints can be updated; milliseconds. */
  readonly shutdownDelayMs: number;
  readonly settings?: () => Settings;
  /** Keep the status of the MachineConfigGuard, one replica at a time by a Lease in this namespace. */
  readonly report?: { readonly namespace: string; readonly leaseTiming?: LeaseTiming };
  readonly onDecision?: (decision: Decision) => void;
  readonly reflectorTiming?: ReflectorTiming;
}

/** How long the last events may take on the way out. */
const FLUSH_MS = 2_000;
const READY_POLL_MS = 20;

/** A guard that serves: the one behind `serve`, `dev` and `demo`. */
export class Guard {
  readonly #options: GuardOptions;
  readonly #index: ReferenceIndex;
  readonly #events: EventRecorder;
  readonly #webhook: TlsServer;
  readonly #health: HealthServer;
  readonly #metrics: Metrics;
  readonly #metricsServer: TlsServer;
  readonly #report: StatusReporter | undefined;
  readonly #stopping = new AbortController();
  #securePort: number | undefined;
  #healthPort: number | undefined;
  #metricsPort: number | undefined;
  #following: Promise<unknown> = Promise.resolve();
  #draining = false;
  #stopped: Promise<void> | undefined;

  constructor(options: GuardOptions) {
    const {
      api,
      log,
      certificate,
      minVersion = 'TLSv1.2',
      settings = () => DEFAULT_SETTINGS,
      reflectorTiming,
    } = options;
    this.#options = options;
    this.#index = new ReferenceIndex({ api, log, timing: reflectorTiming });
    this.#events = new EventRecorder({ api, log });
    const live = new LiveReader({ api, needsRenderedConfigs: () => settings().holdSupersededMs > 0 });
    const judge = new Judge({ api, index: this.#index, live, settings, log });
    const app = createAdmissionApp({
      judge,
      log,
      draining: () => this.#draining,
      onDecision: (decision, review) => {
        this.#record(decision, review);
      },
    });
    this.#webhook = new TlsServer({ app, certificate, minVersion, log });
    const { report } = options;
    this.#report =
      report === undefined
        ? undefined
        : new StatusReporter({
            api,
            log,
            index: this.#index,
            events: this.#events,
            certificate,
            mode: () => settings().mode,
            reflectorTiming,
            ...report,
          });
    this.#metrics = new Metrics({
      mode: () => settings().mode,
      dangling: () => this.#report?.dangling,
      protectedConfigs: () => this.#report?.protectedConfigs,
      resources: REFERRER_RESOURCES.map(({ name }) => name),
      unsynced: () => this.#index.unsynced,
      ages: () => this.#index.ages,
      referrers: () => this.#index.referrers(),
      liveReads: () => live.readCount,
      expiries: () => certificate.expiries(),
    });
    const scrapes = createMetricsApp({ metrics: this.#metrics, access: new ScrapeAuthorizer({ api }), log });
    this.#metricsServer = new TlsServer({ app: scrapes, certificate, minVersion, log });
    this.#health = new HealthServer(() => this.#notReady());
  }

  /** The port of the webhook. */
  get securePort(): number {
    if (this.#securePort === undefined) throw new Error('the guard has not been started');
    return this.#securePort;
  }

  /** The port of the probes. */
  get healthPort(): number {
    if (this.#healthPort === undefined) throw new Error('the guard has not been started');
    return this.#healthPort;
  }

  /** The port of the metrics, or undefined where there are none. */
  get metricsPort(): number | undefined {
    return this.#metricsPort;
  }

  /** Listens and begins to follow the cluster. Throws the system's error where a port cannot be used. */
  async start(): Promise<void> {
    const { bindAddress, healthPort, metricsPort, securePort, log } = this.#options;
    try {
      this.#healthPort = await this.#health.listen(healthPort, bindAddress);
      if (metricsPort !== undefined) this.#metricsPort = await this.#metricsServer.listen(metricsPort, bindAddress);
      this.#securePort = await this.#webhook.listen(securePort, bindAddress);
    } catch (error) {
      await Promise.all([this.#health.close(), this.#metricsServer.close()]);
      throw error;
    }
    log.info(this.ports, 'listening');
    const { signal } = this.#stopping;
    const { certificate } = this.#options;
    this.#following = Promise.all([
      this.#index.run(signal),
      new ExpiryLogger({ certificate, log }).run(signal),
      this.#report?.run(signal),
    ]);
  }

  /** The ports in use, as they are logged. */
  get ports(): { securePort: number; healthPort: number; metricsPort?: number } {
    const { securePort, healthPort, metricsPort } = this;
    return { securePort, healthPort, ...(metricsPort === undefined ? {} : { metricsPort }) };
  }

  /** Waits until the cluster has been read once. Rejects with the signal's reason. */
  async whenReady(signal: AbortSignal): Promise<void> {
    while (this.#notReady() !== undefined) await sleep(READY_POLL_MS, signal);
  }

  /** Becomes unready, serves on for the delay, finishes the calls under way and ends. A second call waits for the first. */
  async stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    await this.#stopped;
  }

  async #stop(): Promise<void> {
    this.#draining = true;
    await sleep(this.#options.shutdownDelayMs, new AbortController().signal);
    await this.#webhook.close();
    await waitOrAbort(this.#events.flush(), AbortSignal.timeout(FLUSH_MS)).catch(() => {});
    this.#stopping.abort();
    await this.#following;
    await Promise.all([this.#health.close(), this.#metricsServer.close()]);
    this.#options.api.close();
  }

  #notReady(): string | undefined {
    if (this.#draining) return 'stopping';
    if (this.#securePort === undefined) return 'not listening yet';
    return this.#index.isSynced ? undefined : `not read yet: ${this.#index.unsynced.join(', ')}`;
  }

  #record(decision: Decision, review: Review): void {
    const { log, onDecision } = this.#options;
    const { verdict, user } = decision;
    logDecision(log, decision);
    this.#metrics.count(decision);
    onDecision?.(decision);
    if (review.config === undefined || review.dryRun) return;
    const { name, uid } = review.config;
    const regarding = { apiVersion: 'machineconfiguration.openshift.io/v1', kind: 'MachineConfig', name, uid };
    if (verdict.outcome === 'denied') {
      this.#events.record({
        regarding,
        reason: 'DeletionDenied',
        action: 'Delete',
        note: `${user}: ${verdict.message}`,
      });
      this.#report?.recordDenial(decision);
    } else if (verdict.outcome === 'overridden') {
      const note = `${user}: ${verdict.message}: ${verdict.overrideReason ?? ''}`;
      this.#events.record({ regarding, reason: 'DeletionOverridden', action: 'Delete', note });
    }
  }
}

/** Starts a guard. Throws where a port cannot be used. */
export async function startGuard(options: GuardOptions): Promise<Guard> {
  const guard = new Guard(options);
  await guard.start();
  return guard;
}

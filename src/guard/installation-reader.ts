import type { Logger } from 'pino';
import { deploymentPath, INSTALLED_NAME, objectPath, WEBHOOK_CONFIGURATIONS_PATH } from '../kube/api-paths.ts';
import type { KubeApi } from '../kube/api.ts';
import { describeError, orUndefined } from '../kube/errors.ts';
import { ProblemLog } from '../kube/problem-log.ts';
import { sleep, withTimeout } from '../kube/wait.ts';

/** What the manifests installed. A field is null if its object does not exist, or was never readable. */
export interface InstallationStatus {
  readonly failurePolicy: string | null;
  /** The replicas that the Deployment wants. */
  readonly replicas: number | null;
  readonly readyReplicas: number | null;
}

export interface InstallationReaderOptions {
  readonly api: Pick<KubeApi, 'json'>;
  readonly log: Logger;
  /** The namespace of the Deployment. */
  readonly namespace: string;
  /** Only the leader writes the status, so the other replicas do not read. */
  readonly isLeader: () => boolean;
}

interface StoredWebhookConfiguration {
  readonly webhooks?: readonly { readonly failurePolicy?: string }[];
}

interface StoredDeployment {
  readonly spec?: { readonly replicas?: number };
  readonly status?: { readonly readyReplicas?: number };
}

const INTERVAL_MS = 10_000;
const LEADER_CHECK_MS = 1_000;
const REQUEST_TIMEOUT_MS = 5_000;

/** Reads the guard's own webhook configuration and Deployment for the status. No decision depends on it. */
export class InstallationReader {
  readonly #options: InstallationReaderOptions;
  readonly #problem: ProblemLog;
  #current: InstallationStatus = { failurePolicy: null, replicas: null, readyReplicas: null };

  constructor(options: InstallationReaderOptions) {
    this.#options = options;
    this.#problem = new ProblemLog(options.log);
  }

  get current(): InstallationStatus {
    return this.#current;
  }

  /** Reads repeatedly until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const isLeader = this.#options.isLeader();
      if (isLeader) await this.read(signal);
      await sleep(isLeader ? INTERVAL_MS : LEADER_CHECK_MS, signal);
    }
  }

  /** Never rejects. After a failure the last values stay. */
  async read(signal: AbortSignal): Promise<void> {
    const { namespace } = this.#options;
    try {
      const path = objectPath(WEBHOOK_CONFIGURATIONS_PATH, INSTALLED_NAME);
      const configuration = (await this.#get(path, signal)) as StoredWebhookConfiguration | undefined;
      // The manifests put one webhook into it.
      const failurePolicy = configuration?.webhooks?.[0]?.failurePolicy ?? null;
      this.#current = { ...this.#current, failurePolicy };
      const deployment = (await this.#get(deploymentPath(namespace, INSTALLED_NAME), signal)) as
        StoredDeployment | undefined;
      // The API server omits a count of 0.
      const counts =
        deployment === undefined
          ? { replicas: null, readyReplicas: null }
          : {
              replicas: deployment.spec?.replicas ?? 0,
              readyReplicas: deployment.status?.readyReplicas ?? 0,
            };
      this.#current = { ...this.#current, ...counts };
      this.#problem.clear();
    } catch (error) {
      if (signal.aborted) return;
      const reason = describeError(error);
      this.#problem.warn(`cannot read the installation for the status: ${reason}`, { reason });
    }
  }

  async #get(path: string, signal: AbortSignal): Promise<unknown> {
    return await withTimeout(REQUEST_TIMEOUT_MS, signal, (limited) =>
      orUndefined(this.#options.api.json({ path, signal: limited })),
    );
  }
}

import { KubeClient, type KubeResponse } from '../control-plane/kube-client.ts';
import { until } from '../control-plane/until.ts';
import { unique } from './cluster.ts';
import type { GuardProcess } from './guard-process.ts';
import { createServiceAccount } from './service-account.ts';

/** Reads the metrics of a guard with a service account that may do nothing else. */
export class MetricsClient {
  readonly #client: KubeClient;

  private constructor(client: KubeClient) {
    this.#client = client;
  }

  static async create(guard: GuardProcess, admin: KubeClient): Promise<MetricsClient> {
    const rules = [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }];
    const token = await createServiceAccount(admin, unique('scraper'), rules);
    return new MetricsClient(new KubeClient({ url: guard.metricsUrl, ca: guard.ca, token }));
  }

  /** Waits until the guard returns 200. It needs the API server to check the token. */
  async read(): Promise<string> {
    const isRead = ({ status }: KubeResponse) => status === 200;
    const poll = async () => {
      const response = await this.#client.request('GET', '/metrics');
      return isRead(response) && String(response.body);
    };
    return until("the guard's metrics", poll, { timeoutMs: 60_000, everyMs: 200 });
  }

  /** The number of denials that the guard's index led to. */
  async countIndexDenials(): Promise<number> {
    const pattern = /^mcguard_decision_duration_seconds_count\{path="index"\} (?<count>\d+)$/m;
    return Number(pattern.exec(await this.read())?.groups?.['count'] ?? 0);
  }

  close(): void {
    this.#client.close();
  }
}

import { KubeClient } from '../../control-plane/kube-client.ts';
import { until } from '../../control-plane/until.ts';
import { unique } from '../../support/cluster.ts';
import type { GuardProcess } from '../../support/guard-process.ts';
import { serviceAccountToken } from '../../support/service-account.ts';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts';
const HITS = /^mcguard_decision_duration_seconds_count\{path="index"\} (?<count>\d+)$/m;

/** How many refusals began with the guard's index, by its metrics: its log may have nowhere to go. */
export class IndexHits {
  readonly #client: KubeClient;

  private constructor(client: KubeClient) {
    this.#client = client;
  }

  /** Asks as a service account with the right to read metrics and no other. */
  static async of(guard: GuardProcess, admin: KubeClient): Promise<IndexHits> {
    const name = unique('scraper');
    const about = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name } };
    await admin.create(ACCOUNTS, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } });
    await admin.create(`${RBAC}/clusterroles`, {
      ...about,
      kind: 'ClusterRole',
      rules: [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }],
    });
    await admin.create(`${RBAC}/clusterrolebindings`, {
      ...about,
      kind: 'ClusterRoleBinding',
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [{ kind: 'ServiceAccount', name, namespace: 'default' }],
    });
    const token = await serviceAccountToken(admin, 'default', name);
    return new IndexHits(new KubeClient({ url: guard.metricsUrl, ca: guard.ca, token }));
  }

  /** Waits until the guard can be asked: it asks the API server who it is that wants to know. */
  async count(): Promise<number> {
    const text = await until(
      "the guard's metrics",
      async () => {
        const { status, body } = await this.#client.request('GET', '/metrics');
        return status === 200 && String(body);
      },
      { timeoutMs: 60_000, everyMs: 200 },
    );
    return Number(HITS.exec(text)?.groups?.['count'] ?? 0);
  }

  close(): void {
    this.#client.close();
  }
}

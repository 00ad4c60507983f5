import { buildWebhookConfiguration } from '../../src/install/webhook-configuration.ts';
import type { KubeClient } from '../e2e/control-plane/kube-client.ts';
import { until } from '../e2e/control-plane/until.ts';
import { AuditLog } from '../e2e/support/audit-log.ts';
import type { GuardedCluster } from '../e2e/support/guarded-cluster.ts';
import { machineConfig, pool, renderedName } from '../e2e/support/objects.ts';
import { PATHS } from '../e2e/support/paths.ts';
import { reviewBody } from '../support/review.ts';
import { createFleet } from './fleet.ts';
import { type RunningWebhook, startWebhook, type WebhookProgram } from './webhook-process.ts';
import type { WebhookAddress } from './first-answer.ts';

const CALLS_METRIC = 'apiserver_admission_webhook_request_total';
const EFFECTIVE_TIMEOUT_MS = 20_000;

/**
 * A real control plane, a guard, and a fleet of nodes that grows. All candidates of a bench are registered at
 * the same time, each for its own configs.
 */
export class BenchCluster {
  readonly guarded: GuardedCluster;
  readonly log: (line: string) => void;
  #nodeCount = 0;

  constructor(guarded: GuardedCluster, log: (line: string) => void) {
    this.guarded = guarded;
    this.log = log;
  }

  get admin(): KubeClient {
    return this.guarded.controlPlane.apiServer.admin;
  }

  /** Creates nodes until there are this many. The new ones name two of these configs each. */
  async growFleet(nodeCount: number, configs: readonly string[]): Promise<void> {
    if (nodeCount <= this.#nodeCount) return;
    this.log(`Creating ${nodeCount} nodes …`);
    await createFleet(this.admin, { from: this.#nodeCount, to: nodeCount, configs });
    this.#nodeCount = nodeCount;
  }

  async createPools(): Promise<void> {
    for (const name of ['master', 'worker', 'infra']) {
      await this.admin.create(PATHS.pools, pool({ name, spec: renderedName(name) }));
    }
  }

  /** Creates a config that the candidate reviews, and returns its name. */
  async createConfig(candidate: string, bytes = 0): Promise<string> {
    const name = renderedName();
    await this.admin.create(PATHS.configs, machineConfig({ name, labels: labelsOf(candidate), bytes }));
    return name;
  }

  /** A dry-run review of the deletion of this config. */
  async buildReview(name: string): Promise<Buffer> {
    const found = await this.admin.find(`${PATHS.configs}/${name}`);
    const oldObject = { metadata: { name, uid: String(found?.metadata.uid) } };
    return Buffer.from(JSON.stringify(reviewBody({ name, oldObject, dryRun: true })));
  }

  /** Stops the guard and removes its registration. */
  async stopGuard(): Promise<void> {
    await this.admin.delete(`${PATHS.webhookConfigurations}/machineconfig-guard`);
    await this.guarded.guard.stop();
  }

  /** Registers a webhook as the guard, and waits until the API server calls it. */
  async #register(candidate: string, { url, ca }: WebhookAddress): Promise<void> {
    const id = toObjectName(candidate);
    const name = `${id}.bench.machineconfig-guard.io`;
    const clientConfig = { url, caBundle: Buffer.from(ca).toString('base64') };
    const configuration = buildWebhookConfiguration({ name: id, clientConfig, failurePolicy: 'Fail' });
    const objectSelector = { matchLabels: labelsOf(candidate) };
    const webhooks = configuration.webhooks.map((webhook) => ({ ...webhook, name, objectSelector }));
    await this.admin.create(PATHS.webhookConfigurations, { ...configuration, webhooks });
    const probe = await this.createConfig(candidate);
    const isCalled = async () => {
      await this.admin.delete(`${PATHS.configs}/${probe}`, { dryRun: 'All' });
      const metrics = String((await this.admin.request('GET', '/metrics')).body);
      return ['200', '403'].some((code) => metrics.includes(`${CALLS_METRIC}{code="${code}",name="${name}"`));
    };
    await until(`the API server to ask ${candidate}`, isCalled, {
      timeoutMs: EFFECTIVE_TIMEOUT_MS,
      everyMs: 250,
    });
  }

  /** Starts a webhook and registers it for a candidate of the same name. */
  async startCandidate(name: string, program: WebhookProgram, kubeconfig: string): Promise<RunningWebhook> {
    const webhook = await startWebhook(this.guarded.controlPlane, program, kubeconfig);
    await this.#register(name, webhook);
    return webhook;
  }

  /** The number of lists of nodes by a user in the audit log. */
  async countNodeLists(username: string): Promise<number> {
    const auditLog = new AuditLog(this.guarded.controlPlane.apiServer.auditLog);
    const events = await auditLog.events(({ user }) => user.username === username);
    return events.filter(({ verb, objectRef }) => verb === 'list' && objectRef?.resource === 'nodes').length;
  }
}

/** The labels of the configs that a candidate reviews. */
function labelsOf(candidate: string): Readonly<Record<string, string>> {
  return { 'bench.machineconfig-guard.io/candidate': toObjectName(candidate) };
}

function toObjectName(candidate: string): string {
  return candidate
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
}

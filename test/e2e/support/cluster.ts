import { randomBytes } from 'node:crypto';

import { inject } from 'vitest';

import {
  KubeClient,
  statusOf,
  type KubeClientOptions,
  type KubeObject,
  type KubeResponse,
} from '../control-plane/kube-client.ts';
import { until } from '../control-plane/until.ts';
import { AuditLog, auditedVerdicts, type AuditedVerdict, type AuditEvent } from './audit-log.ts';
import {
  build,
  buildStatus,
  machineConfig,
  node,
  nodeConfigPatch,
  pool,
  poolStatus,
  renderedName,
  type NodeOptions,
  type PoolOptions,
  type RenderedConfigOptions,
} from './objects.ts';
import { PATHS } from './paths.ts';

/** A guarded cluster in a form that can be handed from the process that started it to those that run tests. */
export interface ClusterConnection {
  /** Kubernetes release. */
  readonly kubernetes: string;
  readonly admin: KubeClientOptions;
  /** The guard's own credentials. */
  readonly guard: KubeClientOptions;
  /** The webhook itself, as the API server calls it. */
  readonly webhook: KubeClientOptions;
  /** The guard's metrics, without credentials. */
  readonly metrics: KubeClientOptions;
  readonly auditLog: string;
  readonly guardLog: string;
}

declare module 'vitest' {
  export interface ProvidedContext {
    /** One for each worker. */
    sharedClusters: readonly ClusterConnection[];
  }
}

/** Everything that has to be right when somebody asks for a deletion. */
export interface Outcome {
  readonly status: number;
  readonly reason?: string | undefined;
  /** The code at the beginning of the guard's message. */
  readonly says?: string | undefined;
  /** The config that the message names. */
  readonly about?: string | undefined;
  /** Is the object still there? */
  readonly exists: boolean;
  readonly audited: ReturnType<typeof auditedVerdicts>;
}

type Reference = AuditedVerdict['referrers'][number];

/** The API server's words, then the guard's. */
const SAID =
  /admission webhook "guard\.machineconfig-guard\.io" denied the request: (MCG_\w+): (?:could not verify whether )?(rendered-\S+) is in use/;

/** Refused because exactly these use it. */
export function refusedInUse(config: string, referrers: readonly Reference[]): Outcome {
  const verdict = { name: config, code: 'MCG_IN_USE', referrers, more: 0 };
  return {
    status: 403,
    reason: 'Forbidden',
    says: 'MCG_IN_USE',
    about: config,
    exists: true,
    audited: { denied: verdict },
  };
}

/** Refused because it could not be found out who uses it. */
export function refusedUnverified(config: string): Outcome {
  const verdict = { name: config, code: 'MCG_UNVERIFIED', referrers: [], more: 0 };
  return {
    status: 503,
    reason: 'ServiceUnavailable',
    says: 'MCG_UNVERIFIED',
    about: config,
    exists: true,
    audited: { denied: verdict },
  };
}

/** Gone, because nothing needs it; those may have mentioned it. */
export function deleted(config: string, mentions: readonly Reference[] = []): Outcome {
  const verdict = { name: config, code: 'MCG_NOT_IN_USE', referrers: mentions, more: 0 };
  return { status: 200, exists: false, audited: { allowed: verdict } };
}

/** The vocabulary of the tests: what is there, what somebody does, what must come of it. */
export class Cluster {
  readonly connection: ClusterConnection;
  readonly admin: KubeClient;
  readonly auditLog: AuditLog;

  constructor(connection: ClusterConnection) {
    this.connection = connection;
    this.admin = new KubeClient(connection.admin);
    this.auditLog = new AuditLog(connection.auditLog);
  }

  /** A rendered config that nothing names; its name. */
  async config(options: Partial<RenderedConfigOptions> = {}): Promise<string> {
    const name = options.name ?? renderedName();
    await this.admin.create(PATHS.configs, machineConfig({ ...options, name }));
    return name;
  }

  /** A node with those annotations; its name. */
  async node(options: Partial<NodeOptions>): Promise<string> {
    const name = options.name ?? unique('worker');
    await this.admin.create(PATHS.nodes, node({ ...options, name }));
    return name;
  }

  /** Answers once the API server has acknowledged the write. */
  async moveNode(name: string, configs: { currentConfig?: string; desiredConfig?: string }): Promise<void> {
    await this.admin.patch(`${PATHS.nodes}/${name}`, nodeConfigPatch(configs));
  }

  async pool(options: Partial<PoolOptions> & { readonly status?: string } = {}): Promise<KubeObject> {
    const name = options.name ?? unique('infra');
    const created = await this.admin.create(PATHS.pools, pool({ ...options, name }));
    if (options.status !== undefined) {
      await this.admin.patch(`${PATHS.pools}/${name}/status`, poolStatus(options.status));
    }
    return created;
  }

  /** A build of this config in this state; its name. */
  async build(config: string, state: Parameters<typeof buildStatus>[0]): Promise<string> {
    const name = unique('build');
    await this.admin.create(PATHS.builds, build({ name, config }));
    await this.admin.patch(`${PATHS.builds}/${name}/status`, buildStatus(state));
    return name;
  }

  /** Asks the API server to delete it, as a person would. */
  delete(config: string, query: Readonly<Record<string, string>> = {}): Promise<KubeResponse> {
    return this.admin.delete(`${PATHS.configs}/${config}`, query);
  }

  async exists(config: string): Promise<boolean> {
    return (await this.admin.find(`${PATHS.configs}/${config}`)) !== undefined;
  }

  /** Events about this config, whatever their reason. */
  async eventsAbout(config: string): Promise<readonly (KubeObject & DeletionEvent)[]> {
    const events = (await this.admin.list(PATHS.events)) as readonly (KubeObject & DeletionEvent)[];
    return events.filter((event) => event.regarding?.name === config);
  }

  /** Waits until one is there: Events are written after the answer. */
  awaitEvent(config: string): Promise<KubeObject & DeletionEvent> {
    return until(`an Event about ${config}`, async () => (await this.eventsAbout(config))[0], { timeoutMs: 10_000 });
  }

  /** What has come of the wish to delete this config: the answer, the object, the trace in the audit log. */
  async outcome(config: string, response: KubeResponse): Promise<Outcome> {
    const { message = '', reason } = statusOf(response);
    const said = SAID.exec(message);
    return {
      status: response.status,
      ...(response.status < 400 ? {} : { reason, says: said?.[1], about: said?.[2] }),
      exists: await this.exists(config),
      audited: auditedVerdicts(await this.auditEvent(response)),
    };
  }

  auditEvent(response: KubeResponse): Promise<AuditEvent> {
    return this.auditLog.event(response.auditId);
  }
}

/** An Event of `events.k8s.io/v1`, as far as the tests read it. */
export interface DeletionEvent {
  readonly type: string;
  readonly reason: string;
  readonly note: string;
  readonly action: string;
  readonly regarding?: { readonly apiVersion: string; readonly kind: string; readonly name: string };
  readonly series?: { readonly count: number };
}

/** The cluster that the tests of this worker share, one file after the other: the guard in it is never disturbed. */
export function sharedCluster(): Cluster {
  const worker = Number(process.env['VITEST_POOL_ID']);
  const connection = inject('sharedClusters')[worker - 1];
  if (connection === undefined) throw new Error(`There is no cluster for worker ${worker}.`);
  return new Cluster(connection);
}

/** A name that no other test uses. */
export function unique(prefix: string): string {
  return `${prefix}-${randomBytes(4).toString('hex')}`;
}

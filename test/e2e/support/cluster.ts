import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';

import { expect } from 'vitest';

import type { GuardStatus } from '../../../src/status/describe-status.ts';
import type { LastDenial } from '../../../src/status/status-writer.ts';
import type { ApiServer } from '../control-plane/api-server.ts';
import { type KubeClient, type KubeObject, type KubeResponse, statusOf } from '../control-plane/kube-client.ts';
import { until } from '../control-plane/until.ts';
import { auditedVerdicts, type AuditedVerdict, type AuditEvent } from './audit-log.ts';
import {
  build,
  buildStatus,
  machineConfig,
  node,
  nodePatch,
  pool,
  renderedName,
  type NodeOptions,
  type PoolOptions,
  type RenderedConfigOptions,
} from './objects.ts';
import { PATHS } from './paths.ts';

type Query = Readonly<Record<string, string>>;
type Referrer = AuditedVerdict['referrers'][number];

/** The text of the API server, followed by the guard's message. */
const DENIAL = 'admission webhook "guard.machineconfig-guard.io" denied the request: MCG_IN_USE: ';

/** Creates, changes and deletes objects as an administrator. */
export class Cluster {
  readonly admin: KubeClient;
  /** File with one JSON event per line. */
  readonly #auditLog: string;

  constructor({ admin, auditLog }: ApiServer) {
    this.admin = admin;
    this.#auditLog = auditLog;
  }

  /** Creates a rendered config without references and returns its name. */
  async config(options: Partial<RenderedConfigOptions> = {}) {
    const name = options.name ?? renderedName();
    await this.admin.create(PATHS.configs, machineConfig({ ...options, name }));
    return name;
  }

  /** Creates a node and returns its name. */
  async node(options: Partial<NodeOptions> = {}) {
    const name = options.name ?? unique('worker');
    await this.admin.create(PATHS.nodes, node({ ...options, name }));
    return name;
  }

  /** Sets annotations of the operator, such as `desiredConfig`. Returns when the API server has acknowledged it. */
  async moveNode(name: string, values: Readonly<Record<string, string>>) {
    await this.admin.patch(`${PATHS.nodes}/${name}`, nodePatch(values));
  }

  async pool(options: Partial<PoolOptions> & { readonly status?: string } = {}) {
    const name = options.name ?? unique('infra');
    const created = await this.admin.create(PATHS.pools, pool({ ...options, name }));
    if (options.status !== undefined) {
      const configuration = { name: options.status };
      const counts = { machineCount: 3, readyMachineCount: 3, updatedMachineCount: 3 };
      const status = { configuration, ...counts, unavailableMachineCount: 0, degradedMachineCount: 0 };
      await this.admin.patch(`${PATHS.pools}/${name}/status`, { status });
    }
    return created;
  }

  /** Creates a build of a config in a state and returns its name. */
  async build(config: string, state: Parameters<typeof buildStatus>[0]) {
    const name = unique('build');
    await this.admin.create(PATHS.builds, build({ name, config }));
    await this.admin.patch(`${PATHS.builds}/${name}/status`, buildStatus(state));
    return name;
  }

  /** Deletes a rendered config. */
  delete(config: string, query: Query = {}) {
    return this.admin.delete(`${PATHS.configs}/${config}`, query);
  }

  /** Asks whether the API server would delete a config. */
  dryRun(config: string) {
    return this.delete(config, { dryRun: 'All' });
  }

  async exists(config: string) {
    return (await this.admin.find(`${PATHS.configs}/${config}`)) !== undefined;
  }

  /** Deletes a config and expects a denial because of these referrers: answer, object and audit event. */
  async expectDenied(config: string, referrers: readonly Referrer[]) {
    const response = await this.delete(config);
    const { reason, message = '' } = statusOf(response);
    expect([response.status, reason]).toEqual([403, 'Forbidden']);
    expect(message).toContain(`${DENIAL}${config} is in use`);
    expect(await this.exists(config)).toBe(true);
    const denied = { name: config, code: 'MCG_IN_USE', referrers, more: 0 };
    expect(auditedVerdicts(await this.auditEvent(response))).toEqual({ denied });
    return response;
  }

  /** Deletes a config and expects that it is gone. The referrers have weak references only. */
  async expectAllowed(config: string, referrers: readonly Referrer[] = []) {
    const response = await this.delete(config);
    const audited = auditedVerdicts(await this.auditEvent(response));
    expect({ status: response.status, exists: await this.exists(config), audited }).toEqual({
      status: 200,
      exists: false,
      audited: { allowed: { name: config, code: 'MCG_NOT_IN_USE', referrers, more: 0 } },
    });
    return response;
  }

  /** Events about a config. */
  async eventsAbout(config: string) {
    const events = (await this.admin.list(PATHS.events)) as readonly (KubeObject & { regarding?: { name: string } })[];
    return events.filter(({ regarding }) => regarding?.name === config);
  }

  /** Waits for an Event. The guard writes it after the answer. */
  awaitEvent(config: string) {
    return until(`an Event about ${config}`, async () => (await this.eventsAbout(config))[0]);
  }

  /**
   * The events that match in the audit log of the API server, oldest first.
   *
   * @param text is in each of them. Parsing the others would take long.
   */
  async auditEvents(isWanted: (event: AuditEvent) => boolean, text = '') {
    const lines = (await readFile(this.#auditLog, 'utf8')).split('\n');
    // The API server may still be writing the last line.
    const complete = lines.slice(0, -1).filter((line) => line.includes(text));
    return complete.map((line) => JSON.parse(line) as AuditEvent).filter(isWanted);
  }

  /** Waits for the audit event of a request. The API server writes it after the response. */
  auditEvent({ auditId }: KubeResponse) {
    const find = async () => (await this.auditEvents(({ auditID }) => auditID === auditId, auditId))[0];
    return until(`the audit event ${auditId}`, find);
  }

  /** Waits for a status of the MachineConfigGuard. */
  awaitStatus(isWanted: (status: Status) => boolean): Promise<Status> {
    let status: Status | undefined;
    const poll = async () => {
      status = (await this.admin.find(PATHS.guard))?.status as Status | undefined;
      return status?.conditions !== undefined && isWanted(status) && status;
    };
    return until(() => `the status; the last one was ${JSON.stringify(status)}`, poll);
  }

  /** Waits until the API server calls the guard, a moment after its start or a change of its configuration. */
  async awaitGuardCalls() {
    const config = await this.config();
    const nodePath = `${PATHS.nodes}/${await this.node({ currentConfig: config })}`;
    let last: KubeResponse | undefined;
    const isDenied = async () => isDeniedInUse((last = await this.dryRun(config)));
    await until(() => `a denial, not ${JSON.stringify(last?.body)}`, isDenied);
    // The guard allows a deletion only if there is a node.
    await this.admin.patch(nodePath, { metadata: { annotations: null } });
    await this.delete(config);
    await this.admin.delete(nodePath);
  }
}

/** The status of a MachineConfigGuard. */
type Status = GuardStatus & { readonly lastDenial?: LastDenial };

/** Whether a response is the guard's denial of a config in use. */
export function isDeniedInUse(response: KubeResponse) {
  return response.status === 403 && statusOf(response).message?.includes(DENIAL) === true;
}

/** A name that no other object has. */
export function unique(prefix: string) {
  return `${prefix}-${randomBytes(4).toString('hex')}`;
}

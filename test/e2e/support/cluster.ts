import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { expect } from 'vitest';
import type { LastDenial } from '../../../src/status/status-writer.ts';
import { operatorAnnotations, roleLabels } from '../../support/operator-objects.ts';
import { renderConfig } from '../../support/rendered-configs.ts';
import type { ApiServer } from '../control-plane/api-server.ts';
import { type KubeClient, type KubeObject, type KubeResponse, statusOf } from '../control-plane/kube-client.ts';
import { until } from '../control-plane/until.ts';
import { type AuditedVerdict, auditedVerdicts, type AuditEvent } from './audit-log.ts';
import { MCO, nodePatch, PATHS, renderedName } from './objects.ts';
import type { GuardStatus } from '../../../src/status/guard-status.ts';

type Query = Readonly<Record<string, string>>;
type Referrer = AuditedVerdict['referrers'][number];

/** The text of the API server, followed by the guard's message. */
const DENIAL = 'admission webhook "guard.machineconfig-guard.io" denied the request: MCG_IN_USE: ';

interface ConfigOptions {
  readonly name?: string;
  /** The pool that owns the config. */
  readonly owner?: KubeObject;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  /** The size of its file, for a large config. */
  readonly bytes?: number;
}

type NodeOptions = Readonly<Partial<Record<'name' | 'role' | 'currentConfig' | 'desiredConfig', string>>>;

interface PoolOptions extends Readonly<Partial<Record<'name' | 'spec' | 'status', string>>> {
  readonly finalizers?: readonly string[];
}

export interface Pool extends KubeObject {
  readonly spec: {
    readonly configuration?: { readonly name?: string; readonly source?: readonly { readonly name: string }[] };
    readonly nodeSelector?: object;
    readonly paused?: boolean;
  };
  readonly status?: Readonly<Record<`${string}Count`, number>> & {
    readonly configuration?: { readonly name?: string };
    readonly conditions?: readonly Readonly<Record<'type' | 'status' | 'lastTransitionTime', string>>[];
  };
}

/** Whether a condition of an object is true. */
export function hasCondition(object: { readonly status?: object } | undefined, type: string): boolean {
  const { conditions = [] } = (object?.status ?? {}) as NonNullable<Pool['status']>;
  return conditions.some((condition) => condition.type === type && condition.status === 'True');
}

/** Creates, changes and deletes objects as an administrator. */
export class Cluster {
  readonly admin: KubeClient;
  /** File with one JSON event per line. */
  readonly #auditLog: string;

  constructor({ admin, auditLog }: Pick<ApiServer, 'admin' | 'auditLog'>) {
    this.admin = admin;
    this.#auditLog = auditLog;
  }

  /** Creates a rendered config with metadata as in machine-config-operator, pkg/controller/render. Returns the name. */
  async config({ name = renderedName(), owner, annotations, labels, bytes }: ConfigOptions = {}) {
    const label = bytes === undefined ? name : randomBytes(bytes / 2).toString('hex');
    const { apiVersion, kind, metadata: { name: ownerName = '', uid = '' } = {} } = owner ?? {};
    const reference = { apiVersion, kind, name: ownerName, uid, controller: true, blockOwnerDeletion: true };
    await this.admin.create(PATHS.configs, {
      apiVersion: `${MCO}/v1`,
      kind: 'MachineConfig',
      metadata: {
        name,
        annotations: {
          [`${MCO}/generated-by-controller-version`]: '33286190af0d4d340af5c61e603d185780e74b39',
          [`${MCO}/release-image-version`]: '4.20.0',
          ...annotations,
        },
        labels,
        ownerReferences: owner && [reference],
      },
      spec: renderConfig('worker', label).spec,
    });
    return name;
  }

  /** Creates a node with annotations of a real one (OVN-Kubernetes, bare metal, OpenShift 4.19). Returns its name. */
  async node({ name = unique('worker'), role = 'worker', ...configs }: NodeOptions = {}) {
    await this.admin.create(PATHS.nodes, {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: {
        name,
        labels: {
          'kubernetes.io/hostname': name,
          'kubernetes.io/os': 'linux',
          ...roleLabels(role),
        },
        annotations: {
          'k8s.ovn.org/node-subnets': '{"default":["10.131.0.0/23"]}',
          ...operatorAnnotations({ controlPlaneTopology: 'HighlyAvailable', ...configs, reason: '', state: 'Done' }),
          'volumes.kubernetes.io/controller-managed-attach-detach': 'true',
        },
      },
      spec: {},
    });
    return name;
  }

  /** Sets annotations of the operator, such as `desiredConfig`. Returns when the API server has acknowledged it. */
  async moveNode(name: string, values: Readonly<Record<string, string>>) {
    await this.admin.patch(`${PATHS.nodes}/${name}`, nodePatch(values));
  }

  /** Creates a custom pool as an administrator does. `spec` and `status` are the configs that it names. */
  async pool({ name = unique('infra'), spec, status, finalizers }: PoolOptions = {}) {
    const created = await this.admin.create(PATHS.pools, {
      apiVersion: `${MCO}/v1`,
      kind: 'MachineConfigPool',
      metadata: { name, finalizers },
      spec: {
        configuration: spec && { name: spec },
        machineConfigSelector: { matchExpressions: [{ key: `${MCO}/role`, operator: 'In', values: ['worker', name] }] },
        nodeSelector: { matchLabels: roleLabels(name) },
        paused: false,
      },
    });
    if (status !== undefined) {
      const counts = { machineCount: 3, readyMachineCount: 3, updatedMachineCount: 3 };
      const rest = { ...counts, unavailableMachineCount: 0, degradedMachineCount: 0 };
      const patch = { status: { configuration: { name: status }, ...rest } };
      await this.admin.patch(`${PATHS.pools}/${name}/status`, patch);
    }
    return created;
  }

  /** Creates a MachineOSBuild of a config with one true condition and returns its name. */
  async build(config: string, condition: 'Building' | 'Succeeded') {
    const name = unique('build');
    await this.admin.create(PATHS.builds, {
      apiVersion: `${MCO}/v1`,
      kind: 'MachineOSBuild',
      metadata: { name },
      spec: {
        machineConfig: { name: config },
        machineOSConfig: { name: 'worker' },
        renderedImagePushSpec: 'quay.io/mco/renderedimage:latest',
      },
    });
    const conditions = ['Prepared', 'Building', 'Failed', 'Interrupted', 'Succeeded'].map((type) => ({
      type,
      status: type === condition ? 'True' : 'False',
      reason: type === condition ? condition : `Not${type}`,
      message: '',
      lastTransitionTime: new Date().toISOString(),
    }));
    await this.admin.patch(`${PATHS.builds}/${name}/status`, { status: { conditions } });
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
    expect({ status: response.status, reason }).toEqual({ status: 403, reason: 'Forbidden' });
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
    // The guard allows a deletion only if there is a node. Without any annotation, the real operator ends with a panic.
    await this.admin.patch(nodePath, nodePatch({ currentConfig: null }));
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

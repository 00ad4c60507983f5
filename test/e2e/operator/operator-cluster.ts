import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { Child } from '../control-plane/child.ts';
import { freePorts } from '../control-plane/free-ports.ts';
import { until } from '../control-plane/until.ts';
import { hasCondition, type Pool } from '../support/cluster.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { MCO, OPERATOR_NAMESPACE, PATHS } from '../support/objects.ts';
import { log } from '../support/runner.ts';
import { serviceAccountToken } from '../support/service-account.ts';
import { findRhcos } from './machines/machine-programs.ts';
import { Machine, type MachineOptions } from './machines/machine.ts';
import { type MachineConfigServer, startMachineConfigServer } from './machine-config-server.ts';
import { findOperator, OPERATOR_VARIABLE, type OperatorRelease, selectOperator } from './operator-binaries.ts';
import { createOperatorObjects, RELEASE_VERSION } from './operator-objects.ts';

const CONTROLLER = 'machine-config-controller';
/** The user of the real controller in the API server. */
export const OPERATOR_USER = `system:serviceaccount:${OPERATOR_NAMESPACE}:${CONTROLLER}`;
/** The log is large. */
const LOG_LINES = 30;

export type BootOptions = Partial<Pick<MachineOptions, 'config' | 'daemon' | 'image' | 'kernelArguments'>>;

let shared: Promise<OperatorCluster> | undefined;

/**
 * A cluster with the real machine-config-controller and machine-config-server, the pool `worker`, and the guard in the
 * mode Enforce. Machines have the real machine-config-daemon.
 */
export class OperatorCluster {
  readonly installed: InstalledCluster;
  readonly release: OperatorRelease;
  /** The folder of the operator's programs. */
  readonly binaries: string;
  readonly server: MachineConfigServer;
  readonly #kubeconfig: string;
  readonly #machines: Machine[] = [];
  #controller: Child | undefined;

  private constructor(
    release: OperatorRelease,
    installed: InstalledCluster,
    binaries: string,
    server: MachineConfigServer,
    file: string,
  ) {
    this.release = release;
    this.installed = installed;
    this.binaries = binaries;
    this.server = server;
    this.#kubeconfig = file;
  }

  /** The test files share this cluster, one after another. They remove their machines, but not their pools. */
  static shared(): Promise<OperatorCluster> {
    shared ??= OperatorCluster.#start();
    return shared;
  }

  static async #start(): Promise<OperatorCluster> {
    const release = selectOperator(OPERATOR_VARIABLE, process.env[OPERATOR_VARIABLE]);
    const binaries = await findOperator(release, log);
    const installed = await InstalledCluster.start(['machine-config-operator']);
    const { controlPlane } = installed;
    const { apiServer } = controlPlane;
    await createOperatorObjects(apiServer.admin);
    const token = await serviceAccountToken(apiServer.admin, OPERATOR_NAMESPACE, CONTROLLER);
    const file = await controlPlane.writeKubeconfig(CONTROLLER, { token });
    const args = ['start', `--kubeconfig=${file}`, `--apiserver-url=${apiServer.url}`];
    const server = await startMachineConfigServer(controlPlane, binaries, 'machine-config-server', args);
    const operator = new OperatorCluster(release, installed, binaries, server, file);
    await operator.createBuiltInPool('worker');
    await operator.startController();
    await installed.applyOverlay('service-ca');
    await installed.awaitGuard();
    await operator.awaitUpdated('worker');
    return operator;
  }

  get admin() {
    return this.installed.cluster.admin;
  }

  /** Returns before the controller works. */
  async startController(): Promise<void> {
    const [port] = await freePorts(1);
    const args = [
      'start',
      `--kubeconfig=${this.#kubeconfig}`,
      `--templates=${join(this.binaries, 'templates')}`,
      `--resourcelock-namespace=${OPERATOR_NAMESPACE}`,
      `--metrics-listen-address=127.0.0.1:${port}`,
    ];
    const env = { ...process.env, RELEASE_VERSION };
    this.#controller = this.installed.controlPlane.startChild(CONTROLLER, join(this.binaries, CONTROLLER), args, {
      env,
    });
  }

  async stopController(): Promise<void> {
    await this.#controller?.stop();
  }

  /** Creates pool master or worker as the operator does. */
  async createBuiltInPool(name: string): Promise<void> {
    const file = join(this.binaries, 'manifests', `${name}.machineconfigpool.yaml`);
    await this.admin.create(PATHS.pools, parse(await readFile(file, 'utf8')) as object);
  }

  /** Creates a pool with one machine, and waits until its daemon acts only on changes. */
  async bootPool(pool: string) {
    await this.installed.cluster.pool({ name: pool });
    await this.awaitUpdated(pool);
    const machine = await this.boot(`${pool}-0`, ['worker', pool]);
    const config = await this.awaitUpdated(pool, 1);
    await this.awaitSettled(machine, config);
    return { machine, config };
  }

  /** Waits until a daemon runs a config, and has no task left. Before, the annotations of the server say Done. */
  async awaitSettled(machine: Machine, config: string): Promise<void> {
    await this.until(`the daemon of ${machine.name} to finish with ${config}`, async () => {
      const { state, reason, currentConfig, lastAppliedDrain } = await machine.annotations();
      const isUncordoned = lastAppliedDrain === `uncordon-${config}`;
      return state === 'Done' && reason === '' && currentConfig === config && isUncordoned;
    });
  }

  /** Creates or changes a source MachineConfig. Not by server-side apply: as YAML, special texts would change. */
  async applySource(role: string, name: string, spec: object): Promise<void> {
    const metadata = { name, labels: { [`${MCO}/role`]: role } };
    const object = { apiVersion: `${MCO}/v1`, kind: 'MachineConfig', metadata, spec };
    const { status } = await this.admin.request('POST', PATHS.configs, object);
    if (status === 409) await this.admin.patch(`${PATHS.configs}/${name}`, { spec });
    else if (status !== 201) throw new Error(`the creation of ${name} was answered with ${status}`);
  }

  /**
   * Boots a machine.
   * @param options `config`: by default, what the server of the cluster serves for the last role
   */
  async boot(name: string, roles: readonly string[], options: BootOptions = {}): Promise<Machine> {
    const fetchConfig = () => this.server.fetchConfig(roles.at(-1) ?? '');
    const machine = await Machine.boot({
      daemon: join(this.binaries, 'machine-config-daemon'),
      rhcos: await findRhcos(),
      ...options,
      name,
      roles,
      config: options.config ?? (await this.until(`a config for ${name}`, fetchConfig)),
      controlPlane: this.installed.controlPlane,
    });
    this.#machines.push(machine);
    return machine;
  }

  /** @throws Error if the harness of a machine has failed */
  async removeMachines(): Promise<void> {
    await Promise.all(this.#machines.splice(0).map((machine) => machine.remove()));
  }

  async awaitPool(name: string, state: string, isReached: (pool: Pool) => boolean): Promise<Pool> {
    let last: Pool | undefined;
    const describe = () => {
      // The spec lists all sources, and the conditions that are False have no message.
      const conditions = last?.status?.conditions?.filter(({ status }) => status === 'True');
      return `pool ${name}: ${state}. It is ${JSON.stringify({ ...last?.status, conditions })}`;
    };
    return this.until(describe, async () => {
      last = (await this.admin.find(`${PATHS.pools}/${name}`)) as Pool | undefined;
      return last !== undefined && isReached(last) && last;
    });
  }

  /** Waits until the spec of a pool names another config, and perhaps for more. Returns its name. */
  async awaitRendered(
    name: string,
    previous?: string,
    state = 'rendered',
    isReached: (pool: Pool) => boolean = () => true,
  ) {
    const { spec } = await this.awaitPool(name, state, (pool) => {
      const config = pool.spec.configuration?.name;
      return config !== undefined && config !== previous && isReached(pool);
    });
    return spec.configuration?.name ?? '';
  }

  /** Waits until all machines run the config of the pool's spec, and returns its name. */
  async awaitUpdated(name: string, machineCount = 0, previous?: string): Promise<string> {
    const state = `updated with ${machineCount} machines`;
    return this.awaitRendered(name, previous, state, (pool) => {
      const { spec, status } = pool;
      const isServed = spec.configuration?.name === status?.configuration?.name;
      const { machineCount: all, updatedMachineCount: updated } = status ?? {};
      return hasCondition(pool, 'Updated') && isServed && all === machineCount && updated === machineCount;
    });
  }

  /** @throws Error with the end of the controller's log */
  async until<Answer>(what: string | (() => string), poll: () => Promise<Answer | false | undefined>) {
    try {
      return await until(what, poll, { everyMs: 200 });
    } catch (error) {
      const file = join(this.installed.controlPlane.directory, `${CONTROLLER}.log`);
      const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
      throw new Error(lines.slice(-LOG_LINES).join('\n'), { cause: error });
    }
  }
}

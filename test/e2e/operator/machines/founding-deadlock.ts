import { expect } from 'vitest';
import { kubectlOk } from '../../support/kubectl.ts';
import { MCO, PATHS } from '../../support/objects.ts';
import { log } from '../../support/runner.ts';
import {
  DIGEST_MIRRORS,
  fetchBootstrapConfig,
  renderBootstrap,
  TAG_MIRRORS,
  writeManifests,
} from '../bootstrap-host.ts';
import { readName } from '../machine-config-server.ts';
import type { OperatorCluster } from '../operator-cluster.ts';
import type { Follower } from './follow-check.ts';
import type { IgnitionConfig } from './ignition.ts';
import type { Machine } from './machine.ts';

const ROLES = ['control-plane', 'master'];
const WAITING = ['control1', 'control2'];
const THIRD = 'control0';
/** The files that the documents of the second manifest file write. */
const FILES = ['/etc/mcg-first-document', '/etc/mcg-second-document'] as const;
const [FIRST_DOCUMENT, SECOND_DOCUMENT] = FILES.map((path) => {
  const files = [{ path, mode: 420, overwrite: true, contents: { source: 'data:,a' } }];
  const metadata = { name: `99-master${path.replace('/etc/', '-')}`, labels: { [`${MCO}/role`]: 'master' } };
  const spec = { config: { ignition: { version: '3.4.0' }, storage: { files } } };
  return { apiVersion: `${MCO}/v1`, kind: 'MachineConfig', metadata, spec };
}) as [object, object];

/**
 * An agent-based install of OpenShift: two masters wait for a config that was never in the API, and the third one for
 * the machine-config-server. Two manifest files have two documents each. The bootstrap host renders both, and the
 * cluster gets only the first ones. So the missing config has another registries.conf, and one file more.
 *
 * Ends it once with what `check` advises, and once with the script that was published for it.
 */
export class FoundingDeadlock {
  readonly #operator: OperatorCluster;
  readonly #config: IgnitionConfig;
  /** The name of the config. */
  readonly #missing: string;
  #machines: readonly Machine[] = [];

  private constructor(operator: OperatorCluster, config: IgnitionConfig, missing: string) {
    this.#operator = operator;
    this.#config = config;
    this.#missing = missing;
  }

  /** Renders with the real bootstrap, and gets from the real bootstrap server what it serves to masters. */
  static async prepare(operator: OperatorCluster): Promise<FoundingDeadlock> {
    const { binaries, installed } = operator;
    const { controlPlane } = installed;
    const files = { 'mirrors.yaml': [DIGEST_MIRRORS, TAG_MIRRORS], 'files.yaml': [FIRST_DOCUMENT, SECOND_DOCUMENT] };
    const { directory } = await renderBootstrap(binaries, await writeManifests(controlPlane.directory, files));
    const config = await fetchBootstrapConfig(controlPlane, binaries, directory);
    await operator.admin.create(PATHS.configs, FIRST_DOCUMENT);
    return new FoundingDeadlock(operator, config, await readName(config));
  }

  async expectEndByCheck(follower: Follower): Promise<void> {
    const operator = this.#operator;
    const { masters } = await this.#start();
    const report = startTimer('check and restore');

    const [third, commands] = await Promise.all([
      this.#boot(THIRD).finally(() => report(`${THIRD} has booted`)),
      follower.follow('master', expect.unreachable).finally(() => report('check is fine')),
    ]);

    const restore = `machineconfig-guard restore ${this.#missing} --from node/${WAITING[0]}`;
    expect(commands).toEqual([restore, `${restore} --confirm`]);
    const rendered = await operator.awaitUpdated('master', 3);
    report('all masters have the config of the cluster');
    expect(await operator.server.fetchName('master')).toBe(rendered);
    expect(readFiles(third, ...masters)).toEqual([
      ['a', undefined],
      ['a', undefined],
      ['a', undefined],
    ]);
    report(`no master has ${FILES[1]}`);
    await this.#remove();
  }

  async expectEndByScript(): Promise<void> {
    const operator = this.#operator;
    const { masters, rendered } = await this.#start();
    const report = startTimer('published script');

    await this.#runScript(rendered);
    const third = await this.#boot(THIRD);
    report(`${THIRD} has booted`);

    await operator.awaitUpdated('master', 3);
    for (const machine of masters) await operator.awaitSettled(machine, rendered);
    report('all masters have the config of the cluster');
    expect(readFiles(third, ...masters)).toEqual([
      ['a', undefined],
      ['a', 'a'],
      ['a', 'a'],
    ]);
    report(`${FILES[1]} stays on ${WAITING.join(' and ')}`);
    await this.#remove();
  }

  /** Boots two masters before the operator runs. Returns them when they are Degraded, and its config. */
  async #start() {
    const operator = this.#operator;
    await operator.stopController();
    const masters = await Promise.all(WAITING.map((name) => this.#boot(name, this.#config)));
    await operator.createBuiltInPool('master');
    await operator.startController();
    const { spec, status } = await operator.awaitPool('master', 'two Degraded machines', (pool) => {
      return pool.status?.degradedMachineCount === WAITING.length;
    });
    const rendered = spec.configuration?.name ?? '';
    expect(rendered).not.toBe(this.#missing);
    expect(await operator.installed.cluster.exists(this.#missing)).toBe(false);
    expect(status?.configuration?.name).toBeUndefined();
    expect(await operator.server.fetchName('master')).toBeUndefined();
    return { masters, rendered };
  }

  async #boot(name: string, config?: IgnitionConfig): Promise<Machine> {
    const machine = await this.#operator.boot(name, ROLES, { ...(config !== undefined && { config }) });
    this.#machines = [...this.#machines, machine];
    return machine;
  }

  /** Sets the status of the pool and the annotations of the nodes to the config of the cluster. */
  async #runScript(rendered: string): Promise<void> {
    const { controlPlane } = this.#operator.installed;
    const status = JSON.stringify({ status: { configuration: { name: rendered } } });
    const pool = ['machineconfigpool', 'master', '--subresource=status'];
    await kubectlOk(controlPlane, ['patch', ...pool, '--type=merge', '--patch', status]);
    const values = { currentConfig: rendered, desiredConfig: rendered, state: 'Done' };
    const annotations = Object.entries(values).map(([field, value]) => `${MCO}/${field}=${value}`);
    await kubectlOk(controlPlane, ['annotate', '--overwrite', 'node', ...WAITING, ...annotations]);
  }

  /** Removes the machines, and the pool with its rendered configs, so that the next install starts without them. */
  async #remove(): Promise<void> {
    const { admin } = this.#operator;
    await Promise.all(this.#machines.map((machine) => machine.remove()));
    this.#machines = [];
    await this.#operator.stopController();
    await admin.delete(`${PATHS.pools}/master`);
    const annotations = { 'machineconfig-guard.io/allow-deletion': 'the pool is deleted' };
    for (const { metadata } of await admin.list(PATHS.configs)) {
      if (!metadata.name.startsWith('rendered-master-')) continue;
      const path = `${PATHS.configs}/${metadata.name}`;
      // Answered with 404 if the garbage collector was faster.
      await admin.request('PATCH', path, { metadata: { annotations } });
      await admin.delete(path);
    }
    await this.#operator.startController();
  }
}

function readFiles(...machines: readonly Machine[]) {
  return machines.map((machine) => FILES.map((file) => machine.read(file)));
}

/** Prints how long the steps after this one take. */
function startTimer(name: string) {
  const startedAt = performance.now();
  return (what: string) => {
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0);
    log(`founding deadlock, ${name}: ${what} after ${seconds} s`);
  };
}

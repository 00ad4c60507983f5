import type { InMemoryCluster } from '../support/in-memory-cluster/in-memory-cluster.ts';
import { operatorAnnotations, roleLabels } from '../support/operator-objects.ts';
import { renderConfig, type RenderedContent } from '../support/rendered-configs.ts';
import { MCO_GROUP } from '../../src/mco/api-paths.ts';

const POOL = 'master';

function toMachineConfig({ name, spec }: RenderedContent) {
  return { apiVersion: `${MCO_GROUP}/v1`, kind: 'MachineConfig', metadata: { name }, spec };
}

export const FIRST = toMachineConfig(renderConfig(POOL, 'first'));
export const SECOND = toMachineConfig(renderConfig(POOL, 'second'));

/**
 * Pool master of a cluster in memory, with the rules of the Machine Config Operator 4.18 that can lead to a deadlock.
 * No outcome is prescribed: every actor reacts to the state of the cluster.
 */
export class Masters {
  readonly #cluster: InMemoryCluster;
  readonly #print: (actor: string, message: string) => void;

  /** Starts within the first roll-out, before which the status of the pool names no config. */
  constructor(cluster: InMemoryCluster, print: (actor: string, message: string) => void) {
    this.#cluster = cluster;
    this.#print = print;
    for (const config of [FIRST, SECOND]) cluster.create('machineconfigs', config);
    for (const [name, { metadata }] of Object.entries({ control0: SECOND, control1: SECOND, control2: FIRST })) {
      cluster.create('nodes', { metadata: { name, labels: roleLabels('master') } });
      this.#annotate(name, { currentConfig: metadata.name, desiredConfig: metadata.name, state: 'Done' });
      print('hosts', `${name} runs ${metadata.name}`);
    }
    const nodeSelector = { matchLabels: roleLabels('master') };
    const configuration = { name: SECOND.metadata.name };
    cluster.create('machineconfigpools', { metadata: { name: POOL }, spec: { nodeSelector, configuration } });
  }

  get nodes() {
    return this.#cluster.list('nodes').map(({ metadata: { name, annotations = {} } }) => {
      // The operator writes these fields (machine-config-operator, pkg/daemon/constants).
      const [currentConfig = '', desiredConfig = '', state = ''] = ['currentConfig', 'desiredConfig', 'state'].map(
        (field) => annotations[`${MCO_GROUP}/${field}`],
      );
      return { name, currentConfig, desiredConfig, state };
    });
  }

  get updatedCount(): number {
    const { name } = SECOND.metadata;
    return this.nodes.filter(({ currentConfig, state }) => currentConfig === name && state === 'Done').length;
  }

  get degradedCount(): number {
    return this.nodes.filter(({ state }) => state === 'Degraded').length;
  }

  settle(): void {
    while (this.nodes.some((node) => this.#runDaemon(node)) || this.#chooseNode());
    // The status names a config once every machine runs it (pkg/controller/node/status.go).
    const { nodes, updatedCount: updatedMachineCount, degradedCount: degradedMachineCount } = this;
    const counts = { machineCount: nodes.length, updatedMachineCount, degradedMachineCount };
    const isUpdated = updatedMachineCount === nodes.length;
    const status = { ...counts, ...(isUpdated && { configuration: { name: SECOND.metadata.name } }) };
    this.#cluster.patch('machineconfigpools', POOL, { status });
  }

  #annotate(node: string, values: Readonly<Record<string, string>>): void {
    this.#cluster.patch('nodes', node, { metadata: { annotations: operatorAnnotations(values) } });
  }

  /**
   * Without its current or desired config, a node that shall change is Degraded (pkg/daemon/daemon.go). The daemon
   * watches its node, but not the configs. Else the node gets the desired config.
   */
  #runDaemon({ name, currentConfig, desiredConfig, state }: Masters['nodes'][number]): boolean {
    const configs = [currentConfig, desiredConfig];
    const missing = configs.find((config) => this.#cluster.get('machineconfigs', config) === undefined);
    const isDegraded = state === 'Degraded';
    if (isDegraded ? missing !== undefined : currentConfig === desiredConfig) return false;
    if (missing !== undefined) {
      const reason = `missing MachineConfig ${missing}`;
      this.#annotate(name, { state: 'Degraded', reason });
      this.#print('daemon', `${name} is Degraded: ${reason}`);
    } else if (isDegraded) {
      this.#annotate(name, { state: 'Done', reason: '' });
      this.#print('daemon', `${name} is no longer Degraded`);
    } else {
      this.#annotate(name, { currentConfig: desiredConfig });
      this.#print('daemon', `${name} drains, writes ${desiredConfig}, reboots and is back`);
    }
    return true;
  }

  /** Updates one node at a time, and none while one is Degraded (pkg/controller/node/node_controller.go). */
  #chooseNode(): boolean {
    const { spec } = this.#cluster.require('machineconfigpools', POOL, '');
    const { name } = SECOND.metadata;
    const next = this.nodes.find(({ desiredConfig }) => desiredConfig !== name);
    if ((spec as { paused?: boolean }).paused === true || next === undefined || this.degradedCount > 0) return false;
    this.#annotate(next.name, { desiredConfig: name });
    this.#print('operator', `${next.name} is next: desired -> ${name}`);
    return true;
  }
}

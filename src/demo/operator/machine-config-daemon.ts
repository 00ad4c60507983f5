import { isDeepStrictEqual } from 'node:util';
import type { Simulation } from './simulation.ts';
import { OPERATOR_TIMING as TIMING } from './timing.ts';

/**
 * Gets the current and the desired config when it starts, after a change of the node and after a reconnect.
 * If one is missing, or the disk differs from the current one, the node is Degraded
 * (machine-config-operator, pkg/daemon/daemon.go).
 */
export async function runMachineConfigDaemon(simulation: Simulation, name: string): Promise<void> {
  const { clock } = simulation;
  const formatInput = (): string => {
    const { current, desired } = simulation.getNode(name);
    return [current, desired, simulation.outageCount].join(' ');
  };
  let syncedInput = '';
  for (;;) {
    await clock.waitFor(() => simulation.isOperatorUp && simulation.isApiUp && formatInput() !== syncedInput);
    syncedInput = formatInput();
    const failure = findFailure(simulation, name);
    if (failure !== undefined) {
      await reportDegraded(simulation, name, failure);
      const failedAt = clock.now;
      const isSynced = (): boolean => formatInput() === syncedInput;
      await clock.waitFor(() => simulation.isApiUp && (!isSynced() || findFailure(simulation, name) !== failure));
      if (!isSynced()) continue;
      // The daemon watches its node, but not the configs.
      await clock.sleepUntil(findRetryTime(failedAt, clock.now));
      await clock.sleep(TIMING.daemonRecovers);
      syncedInput = '';
      continue;
    }
    const { current, desired, state } = simulation.getNode(name);
    if (state === 'Degraded') {
      await simulation.patchNode(name, { state: 'Done', reason: '' });
      simulation.record('daemon', `${name} is no longer Degraded`);
    }
    if (current !== desired) await updateNode(simulation, name, desired);
  }
}

async function reportDegraded(simulation: Simulation, name: string, reason: string): Promise<void> {
  const node = simulation.getNode(name);
  if (node.state === 'Degraded' && node.reason === reason) return;
  await simulation.patchNode(name, { state: 'Degraded', reason });
  simulation.record('daemon', `${name} is Degraded: ${reason}`);
}

function findFailure(simulation: Simulation, name: string): string | undefined {
  const { current, desired } = simulation.getNode(name);
  const missing = [current, desired].find((config) => simulation.findConfig(config) === undefined);
  if (missing !== undefined) return `missing MachineConfig ${missing}`;
  const isOnDisk = isDeepStrictEqual(simulation.disks.get(name)?.spec, simulation.findConfig(current)?.spec);
  return isOnDisk ? undefined : `unexpected on-disk state validating against ${current}`;
}

/** The first retry after `time`. The pauses between retries double up to a maximum. */
export function findRetryTime(failedAt: number, time: number): number {
  let retryAt = failedAt;
  for (let pause: number = TIMING.daemonRetries; retryAt < time; pause *= 2) {
    retryAt += Math.min(pause, TIMING.daemonRetriesMax);
  }
  return retryAt;
}

async function updateNode(simulation: Simulation, name: string, desired: string): Promise<void> {
  const { clock } = simulation;
  // The daemon has it in memory: a deletion during the update does no harm.
  const config = simulation.findConfig(desired);
  await clock.sleep(TIMING.daemonReacts);
  await simulation.patchNode(name, { state: 'Working', desiredDrain: `drain-${desired}` });
  simulation.record('daemon', `${name} is Working: drains, writes ${desired}`);
  if (!simulation.canDrain) {
    simulation.record('daemon', `${name} cannot be drained: etcd has too few members`);
    await clock.waitFor(() => simulation.canDrain);
  }
  await simulation.patchNode(name, { lastAppliedDrain: `drain-${desired}` });
  await clock.sleep(TIMING.nodeUpdates);
  await simulation.patchNode(name, { state: 'Rebooting', ready: false });
  if (config !== undefined) simulation.disks.set(name, config);
  simulation.record('daemon', `${name} reboots`);
  await clock.sleep(TIMING.nodeReboots);
  const uncordon = `uncordon-${desired}`;
  await simulation.patchNode(name, { desiredDrain: uncordon, lastAppliedDrain: uncordon });
  await simulation.patchNode(name, { current: desired, state: 'Done' });
  simulation.record('daemon', `${name} is back, Done, running ${desired}`);
  await clock.sleep(TIMING.nodeBecomesReady);
  await simulation.patchNode(name, { ready: true });
}

import { runMachineConfigDaemon } from './machine-config-daemon.ts';
import { createMaster, listNodes } from './nodes.ts';
import { getPoolConfig, getPoolStatus } from './pool.ts';
import { FIRST_CONFIG } from './rendering.ts';
import type { Story } from './story.ts';
import { TIMING } from './timing.ts';

const BOOTSTRAP_HOST = 'control0';
const OTHER_HOSTS = ['control1', 'control2'] as const;
const HOSTS = [BOOTSTRAP_HOST, ...OTHER_HOSTS];

export async function bootHosts(story: Story): Promise<void> {
  story.record('hosts', `${HOSTS.join(', ')} boot; ${BOOTSTRAP_HOST} runs the bootstrap`);
  await story.clock.sleepUntil(TIMING.mastersJoinAt);
  for (const name of OTHER_HOSTS) joinCluster(story, name, FIRST_CONFIG);
  story.record('hosts', `${OTHER_HOSTS.join(' and ')} join, running ${FIRST_CONFIG}`);
}

/** The installer runs on the bootstrap host, which becomes the third master. */
export async function runInstaller(story: Story): Promise<void> {
  const { cluster, clock } = story;
  const otherCount = OTHER_HOSTS.length;
  await clock.sleepUntil(TIMING.bootstrapCompleteAt);
  await clock.waitFor(() => listNodes(cluster).filter(({ ready }) => ready).length >= otherCount);
  // Ready does not mean that the configs of the node exist.
  story.record('installer', `${otherCount} masters are Ready, bootstrap complete: reboots ${BOOTSTRAP_HOST}`);
  story.record('etcd', 'loses its quorum; the API does not answer');
  await story.stopApiFor(TIMING.apiAway);
  story.record('etcd', 'has a quorum again; the API answers');
  await clock.sleep(TIMING.bootstrapHostJoins - TIMING.apiAway);
  const config = getPoolConfig(cluster);
  joinCluster(story, BOOTSTRAP_HOST, config);
  story.record('hosts', `${BOOTSTRAP_HOST} joins, running ${config}`);
  await clock.waitFor(() => {
    const { configuration, updatedMachineCount } = getPoolStatus(cluster);
    return configuration === config && updatedMachineCount === HOSTS.length;
  });
  story.record('install', `complete: all ${HOSTS.length} masters run ${config}`);
}

function joinCluster(story: Story, name: string, config: string): void {
  createMaster(story.cluster, name, config);
  story.clock.start(async () => await runMachineConfigDaemon(story, name));
}

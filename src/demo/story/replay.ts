import { runCleanUp } from './clean-up.ts';
import { bootHosts, runInstaller } from './installer.ts';
import { runNodeController, runPoolStatusController } from './node-controller.ts';
import { listNodes, type NodeView } from './nodes.ts';
import { getPoolStatus, type PoolStatus } from './pool.ts';
import { renderAgain, renderAtBootstrap } from './rendering.ts';
import { Story, type StoryEvent, type StoryOptions } from './story.ts';

export interface Replay {
  /** In a deadlock every actor waits for another one. */
  readonly outcome: 'completed' | 'deadlock';
  readonly events: readonly StoryEvent[];
  readonly nodes: readonly NodeView[];
  readonly pool: PoolStatus;
  readonly configs: readonly string[];
}

/**
 * Replays an install in which a config in use is deleted. The outcome is not prescribed: the actors follow
 * their rules until none can act.
 */
export async function replayIncidentA(options: StoryOptions): Promise<Replay> {
  const story = new Story(options);
  const actors = [
    bootHosts,
    renderAtBootstrap,
    renderAgain,
    runPoolStatusController,
    runNodeController,
    runCleanUp,
  ];
  for (const actor of actors) story.clock.start(async () => await actor(story));
  let isComplete = false;
  story.clock.start(async () => {
    await runInstaller(story);
    isComplete = true;
  });
  await story.clock.run();
  const pool = getPoolStatus(story.cluster);
  if (!isComplete) {
    const { updatedMachineCount, machineCount, degradedMachineCount } = pool;
    const counts = `${updatedMachineCount} of ${machineCount} masters updated, ${degradedMachineCount} Degraded`;
    story.record('install', `stuck: ${counts}`);
  }
  return {
    outcome: isComplete ? 'completed' : 'deadlock',
    events: story.events,
    nodes: listNodes(story.cluster),
    pool,
    configs: story.cluster.list('machineconfigs').map(({ metadata }) => metadata.name),
  };
}

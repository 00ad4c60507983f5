import type { InMemoryCluster } from '../cluster/in-memory-cluster.ts';
import { cleanUp } from './clean-up.ts';
import { hosts } from './hosts.ts';
import { installer } from './installer.ts';
import { machineConfigDaemon } from './machine-config-daemon.ts';
import { nodeController, poolStatusController } from './node-controller.ts';
import { type NodeView, nodes } from './node-view.ts';
import { type PoolStatus, poolStatus } from './pool-view.ts';
import { bootstrapRendering, rendering } from './rendering.ts';
import { Scene, type StoryEvent } from './scene.ts';
import { StoryClock } from './story-clock.ts';

/** How an install ended: it came to its end, or everybody waits for somebody else. */
export type Outcome = 'completed' | 'deadlock';

/** What a replay needs. */
export interface ReplayOptions {
  /** An empty cluster; a guard may be registered in it. */
  readonly sandbox: InMemoryCluster;
  /** How many simulated seconds pass in a real one. */
  readonly speed: number;
  readonly signal: AbortSignal;
  /** Hears each line of the story as it happens. */
  readonly onEvent?: (event: StoryEvent) => void;
}

/** What came of it. */
export interface Replay {
  readonly outcome: Outcome;
  readonly events: readonly StoryEvent[];
  readonly nodes: readonly NodeView[];
  readonly pool: PoolStatus;
  /** The rendered configs that are left. */
  readonly configs: readonly string[];
}

/**
 * Replays incident A: an install in which a rendered config is deleted while a node still needs it. Nothing in it decides how
 * it ends: the actors follow their rules until none of them has anything left to do.
 */
export async function replayIncidentA({ sandbox, speed, signal, onEvent }: ReplayOptions): Promise<Replay> {
  const clock = new StoryClock(speed);
  const scene = new Scene(sandbox, clock, onEvent ?? (() => {}));
  const joined = (name: string): void => {
    clock.start(async () => {
      await machineConfigDaemon(scene, name);
    });
  };
  let complete = false;
  clock.start(async () => {
    await hosts(scene, joined);
  });
  for (const actor of [bootstrapRendering, rendering, poolStatusController, nodeController, cleanUp]) {
    clock.start(async () => {
      await actor(scene);
    });
  }
  clock.start(async () => {
    await installer(scene, joined);
    complete = true;
  });
  await clock.run(signal);
  const pool = poolStatus(sandbox);
  if (!complete) {
    const { updatedMachineCount, machineCount, degradedMachineCount } = pool;
    const counts = `${updatedMachineCount} of ${machineCount} masters updated, ${degradedMachineCount} Degraded`;
    scene.say('install', `stuck: ${counts}, nobody will act`);
  }
  return {
    outcome: complete ? 'completed' : 'deadlock',
    events: scene.events,
    nodes: nodes(sandbox),
    pool,
    configs: sandbox.list('machineconfigs').map(({ metadata }) => metadata.name),
  };
}

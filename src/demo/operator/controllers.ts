import { isUnavailable, type NodeView } from './node.ts';
import { planStatus, type PoolView } from './pool.ts';
import type { Actor } from './simulated-clock.ts';
import { POOL_PATH, type Simulation } from './simulation.ts';

/** Seconds from a change of the cluster until a controller acts. */
const REACTION = 1;

/** The node that gets a new desired config now, or a report of the Degraded nodes that prevent it. */
type Plan = NodeView | string | undefined;

/** Starts the controllers, and lets the daemons of the nodes start. */
export function startOperator(simulation: Simulation): void {
  simulation.isOperatorUp = true;
  simulation.start(runPoolStatusController(simulation));
  simulation.start(runNodeController(simulation));
}

/** Updates one node at a time (machine-config-operator, pkg/controller/node). */
async function* runNodeController(simulation: Simulation): Actor {
  const plan = (): Plan => planRollout(simulation.pool, simulation.nodes);
  let lastReport: string | undefined;
  for (;;) {
    yield () => typeof plan() === 'object' || plan() !== lastReport;
    const { outageCount } = simulation;
    yield REACTION;
    // After an outage it reads the cluster again.
    if (simulation.outageCount !== outageCount) continue;
    const next = plan();
    if (typeof next === 'object') {
      const { config } = simulation.pool;
      await simulation.annotateNode(next.name, { desiredConfig: config });
      simulation.record('operator', `${next.name} is next: desired -> ${config}`);
    } else {
      if (next !== undefined && next !== lastReport) simulation.record('operator', next);
      lastReport = next;
    }
  }
}

async function* runPoolStatusController(simulation: Simulation): Actor {
  const plan = (): object | undefined => planStatus(simulation.pool, simulation.nodes);
  for (;;) {
    const status = plan();
    if (status === undefined) yield () => plan() !== undefined;
    else await simulation.write('PATCH', `${POOL_PATH}/status`, { status });
  }
}

/** As getAllCandidateMachines in pkg/controller/node/node_controller.go of the Machine Config Operator. */
function planRollout({ config, isPaused }: PoolView, nodes: readonly NodeView[]): Plan {
  const candidate = nodes.find(({ desiredConfig }) => desiredConfig !== config);
  if (isPaused || config === '' || candidate === undefined) return undefined;
  const unavailable = nodes.filter(isUnavailable);
  if (unavailable.length === 0) return candidate;
  const degraded = nodes.filter(({ state }) => state === 'Degraded').map(({ name }) => name);
  if (degraded.length === 0) return undefined;
  return `No capacity left (unavail=${unavailable.length} >= maxUnavailable=1): ${degraded.join(' and ')} Degraded`;
}

import { isDeepStrictEqual } from 'node:util';
import { isFailing, isUnavailable, type NodeView } from './nodes.ts';
import { areAllUpdated, buildStatusPatch, computePoolStatus, type PoolView } from './pool.ts';
import type { Simulation } from './simulation.ts';
import { OPERATOR_TIMING } from './timing.ts';

/** Starts the controllers, and lets the daemons of the nodes start. */
export function startOperator(simulation: Simulation): void {
  simulation.isOperatorUp = true;
  simulation.clock.start(async () => await runPoolStatusController(simulation));
  simulation.clock.start(async () => await runNodeController(simulation));
}

/** Updates nodes, at most maxUnavailable at a time (machine-config-operator, pkg/controller/node). */
async function runNodeController(simulation: Simulation): Promise<void> {
  const { clock } = simulation;
  const plan = (): RolloutPlan => planRollout(simulation.pool, simulation.nodes);
  let lastReport: string | undefined;
  for (;;) {
    await clock.waitFor(() => {
      const { candidates, report } = plan();
      return simulation.isApiUp && (candidates.length > 0 || report !== lastReport);
    });
    await clock.sleep(OPERATOR_TIMING.controllerReacts);
    // During the sleep the API can stop and nodes can become unavailable.
    if (!simulation.isApiUp) continue;
    const { candidates, report } = plan();
    if (report !== undefined && report !== lastReport) simulation.record('operator', report);
    lastReport = report;
    const { config } = simulation.pool;
    for (const { name } of candidates) {
      await simulation.patchNode(name, { desired: config });
      simulation.record('operator', `${name} is next: desired -> ${config}`);
    }
  }
}

async function runPoolStatusController(simulation: Simulation): Promise<void> {
  const compute = () => computePoolStatus(simulation.pool, simulation.nodes);
  const isCurrent = (): boolean => {
    const { status, isUpdated } = simulation.pool;
    return isUpdated === areAllUpdated(status) && isDeepStrictEqual(status, compute());
  };
  for (;;) {
    await simulation.clock.waitFor(() => simulation.isApiUp && !isCurrent());
    await simulation.patchPoolStatus(buildStatusPatch(simulation.pool, compute()));
  }
}

export interface RolloutPlan {
  /** The nodes that get a new desired config now. */
  readonly candidates: readonly NodeView[];
  /** Why no node can be updated. Undefined if the operator is not blocked. */
  readonly report?: string;
}

/** As getAllCandidateMachines in pkg/controller/node/node_controller.go of the Machine Config Operator. */
export function planRollout({ config, isPaused, maxUnavailable }: PoolView, nodes: readonly NodeView[]): RolloutPlan {
  const outdated = nodes.filter(({ desired }) => desired !== config);
  if (isPaused || config === '' || outdated.length === 0) return { candidates: [] };
  const unavailable = nodes.filter(isUnavailable);
  const failing = nodes.filter((node) => node.desired === config && isFailing(node));
  const capacity = maxUnavailable - unavailable.length - failing.length;
  if (capacity > 0) return { candidates: outdated.slice(0, capacity) };
  const degraded = nodes.filter(({ state }) => state === 'Degraded').map(({ name }) => name);
  if (degraded.length === 0) return { candidates: [] };
  const counts = `unavail=${unavailable.length} >= maxUnavailable=${maxUnavailable}`;
  const report = `No capacity left (${counts}): ${degraded.join(' and ')} Degraded`;
  return { candidates: [], report };
}

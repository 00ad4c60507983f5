import { ControlPlane } from '../control-plane/control-plane.ts';
import { type GuardProcess, GuardProcesses } from './guard-processes.ts';
import { InstalledCluster } from './installed-cluster.ts';
import { PATHS } from './objects.ts';
import { runBinaries } from './runner.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

/** A cluster with one guard process, which reaches the API server through a network that can fail. */
export class GuardedCluster extends InstalledCluster<GuardProcesses> {
  readonly network: TcpProxy;

  constructor(controlPlane: ControlPlane, replicas: GuardProcesses, network: TcpProxy) {
    super(controlPlane, replicas);
    this.network = network;
  }

  get guard(): GuardProcess {
    const [guard] = this.replicas.running;
    if (guard === undefined) throw new Error('The guard was not started.');
    return guard;
  }

  override async stop() {
    await this.network.refuse();
    await super.stop();
  }
}

/**
 * Starts a cluster with the overlay `service-ca` and one replica, and returns when the API server calls the guard.
 * @param options `direct: true` connects the guard to the API server without a proxy, for measurements
 */
export async function startGuardedCluster({ direct = false } = {}): Promise<GuardedCluster> {
  const controlPlane = await ControlPlane.start(await runBinaries());
  const network = await startTcpProxy(Number(new URL(controlPlane.apiServer.url).port));
  const replicas = new GuardProcesses(controlPlane, direct ? undefined : [`https://127.0.0.1:${network.port}`]);
  const cluster = new GuardedCluster(controlPlane, replicas, network);
  try {
    await cluster.applyOverlay('service-ca');
    await controlPlane.apiServer.admin.patch(PATHS.deployment, { spec: { replicas: 1 } });
    await cluster.awaitGuard();
  } catch (error) {
    await cluster.stop();
    throw error;
  }
  return cluster;
}

let shared: Promise<GuardedCluster> | undefined;

/** The test files of a worker share this cluster. */
export function sharedGuardedCluster(): Promise<GuardedCluster> {
  return (shared ??= startGuardedCluster());
}

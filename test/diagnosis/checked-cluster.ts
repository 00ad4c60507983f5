import type { CheckReport } from '../../src/cli/check/check-cluster.ts';
import type { PendingCertificateRequests } from '../../src/client/certificate-requests.ts';
import { parseInspectedNode, parseInspectedPool } from '../../src/client/cluster-reader.ts';
import { advise } from '../../src/client/output/advice.ts';
import type { ClusterSnapshot, InspectedNode, InspectedPool } from '../../src/diagnosis/cluster-snapshot.ts';
import { diagnose } from '../../src/diagnosis/diagnose.ts';
import type { DiagnosisScope, MissingConfigReport } from '../../src/diagnosis/problem.ts';
import { MCO_GROUP } from '../../src/mco/api-paths.ts';
import { type ConfigName, toConfigName } from '../../src/mco/machine-config.ts';

/** The names of an agent-based install that stopped at 93 % (OpenShift 4.18.32). */
export const MISSING = 'rendered-master-553d5d527988f8cd22e7791f6013fe42';
export const MASTER = 'rendered-master-9e786f4a442cb50f3dfeec92abb1675f';
export const WORKER = 'rendered-worker-25a1be6c1264c64551ae911d23717173';

const NOW = new Date('2026-11-20T12:00:00Z');

interface NodeOptions {
  readonly current?: string | undefined;
  readonly desired?: string | undefined;
  readonly role?: string;
  readonly state?: string;
  readonly reason?: string;
}

/** A node of a role, with the annotations that it has reported. */
export function inspectedNode(name: string, options: NodeOptions): InspectedNode {
  const { current, desired, role = 'worker', state = 'Done', reason } = options;
  const values = { currentConfig: current, desiredConfig: desired, state, reason };
  const annotations = Object.fromEntries(Object.entries(values).map(([key, value]) => [`${MCO_GROUP}/${key}`, value]));
  const labels = { [`node-role.kubernetes.io/${role}`]: '' };
  return parseInspectedNode({ metadata: { name, labels, annotations } });
}

interface PoolOptions {
  readonly spec?: string | undefined;
  readonly status?: string | undefined;
  readonly terminating?: boolean;
  /** Of one machine. */
  readonly updatedMachineCount?: number;
  readonly ageMinutes?: number;
}

/** A pool of the nodes that have its name as their role. By default it is an hour old. */
export function inspectedPool(name: string, options: PoolOptions): InspectedPool {
  const { spec, status, terminating = false, ageMinutes = 60 } = options;
  const { updatedMachineCount = status === undefined ? 0 : 1 } = options;
  const creationTimestamp = new Date(NOW.getTime() - ageMinutes * 60_000).toISOString();
  const finalizers = ['foregroundDeletion'];
  const deletion = terminating ? { deletionTimestamp: '2026-11-20T11:59:00Z', finalizers } : {};
  const nodeSelector = { matchLabels: { [`node-role.kubernetes.io/${name}`]: '' } };
  return parseInspectedPool({
    metadata: { name, creationTimestamp, ...deletion },
    spec: { configuration: { name: spec }, nodeSelector },
    status: { configuration: { name: status }, machineCount: 1, updatedMachineCount },
  });
}

export function names(configs: readonly string[]): ReadonlySet<ConfigName> {
  return new Set(configs.map(toConfigName));
}

interface CheckFacts extends Partial<Pick<ClusterSnapshot, 'controlPlaneReplicas' | 'skippedNodes'>> {
  readonly configs?: readonly string[];
  readonly terminatingConfigs?: readonly string[];
  readonly guard?: Readonly<Record<string, Partial<MissingConfigReport>>>;
  readonly requests?: Partial<PendingCertificateRequests>;
  readonly scope?: Partial<DiagnosisScope>;
}

/** Checks a cluster in which by default MASTER and WORKER exist. */
export function check(
  nodes: readonly InspectedNode[],
  pools: readonly InspectedPool[],
  { configs = [MASTER, WORKER], terminatingConfigs = [], guard = {}, requests = {}, scope, ...facts }: CheckFacts = {},
): CheckReport {
  const pendingCertificateRequests = { readable: true, reason: null, requests: [], ...requests };
  const snapshot = {
    nodes,
    pools,
    configs: names(configs),
    terminatingConfigs: names(terminatingConfigs),
    pendingRequests: pendingCertificateRequests.requests,
    ...facts,
  };
  const { repairs, ...cluster } = diagnose(snapshot, {
    now: NOW,
    guardReports: new Map(Object.entries(guard)),
    ...scope,
  });
  return {
    server: '127.0.0.1:6443',
    checkedAt: NOW.toISOString(),
    waitedSeconds: 0,
    ...cluster,
    pendingCertificateRequests,
    repairs: repairs.map(({ text, command, alternative }) => ({ ...advise(text, command), alternative })),
  };
}

import type { PendingCertificateRequests } from '../../../src/client/certificate-requests.ts';
import { buildCheckReport, type CheckReport } from '../../../src/cli/check/check-cluster.ts';
import { checkConsistency } from '../../../src/cli/check/consistency.ts';
import { type InspectedNode, type InspectedPool } from '../../../src/client/cluster-snapshot.ts';
import { planRepairs } from '../../../src/cli/check/repairs.ts';
import { EVERYTHING, inspectedNode, inspectedPool, NOW, snapshot } from './snapshot.ts';

export const MISSING = 'rendered-master-553d5d527988f8cd22e7791f6013fe42';
export const MASTER = 'rendered-master-9e786f4a442cb50f3dfeec92abb1675f';
export const WORKER = 'rendered-worker-25a1be6c1264c64551ae911d23717173';

interface Extras {
  readonly requests?: PendingCertificateRequests;
  readonly explanations?: Readonly<Record<string, string>>;
  readonly terminatingConfigs?: readonly string[];
  readonly skippedNodes?: readonly string[];
}

/** Checks a cluster in which MASTER and WORKER exist. */
export function checkNodesAndPools(
  nodes: InspectedNode[],
  pools: InspectedPool[],
  {
    requests = { readable: true, reason: null, requests: [] },
    explanations = {},
    terminatingConfigs = [],
    skippedNodes = [],
  }: Extras = {},
): CheckReport {
  const { configs, ...rest } = snapshot(nodes, pools, [MASTER, WORKER], terminatingConfigs);
  const cluster = { ...rest, configs, skippedNodes };
  const consistency = checkConsistency(cluster, EVERYTHING, NOW, new Map(Object.entries(explanations)));
  const repairs = planRepairs(
    consistency,
    configs,
    requests.requests.map(({ name }) => name),
  );
  return buildCheckReport(
    {
      server: '127.0.0.1:6443',
      at: NOW,
      consistency,
      requests,
      repairs,
      holdings: undefined,
    },
    0,
  );
}

/** An install that stopped at 93 %: the masters name a config that only the bootstrap host rendered. */
export function checkIncidentB(): CheckReport {
  const stuck = {
    current: MISSING,
    desired: MISSING,
    role: 'master',
    state: 'Degraded',
  };
  const reason = `missing MachineConfig ${MISSING}\nmachineconfigs "${MISSING}" not found`;
  const nodes = [
    ...['control1.gw.lo', 'control2.gw.lo'].map((name) => ({ ...inspectedNode(name, stuck), reason })),
    ...['worker0.gw.lo', 'worker1.gw.lo'].map((name) => inspectedNode(name, { current: WORKER, desired: WORKER })),
  ];
  const pools = [inspectedPool('master', { spec: MASTER }), inspectedPool('worker', { spec: WORKER, status: WORKER })];
  const request = {
    name: 'csr-8vnps',
    node: 'control0.gw.lo',
    signer: 'kubernetes.io/kube-apiserver-client-kubelet',
    createdAt: '2026-11-20T11:48:00Z',
  };
  return checkNodesAndPools(nodes, pools, {
    requests: { readable: true, reason: null, requests: [request] },
  });
}

import { type CheckResult, type CheckReport, buildCheckReport } from '../../src/inspect/check-report.ts';
import type { PendingCertificateRequests } from '../../src/inspect/certificate-requests.ts';
import { checkConsistency, type InspectedNode, type InspectedPool } from '../../src/inspect/consistency.ts';
import { planRepairs } from '../../src/inspect/repairs.ts';
import { EVERYTHING, inspectedNode, inspectedPool, snapshot } from '../policy/inspected.ts';

export const MISSING = 'rendered-master-553d5d527988f8cd22e7791f6013fe42';
export const MASTER = 'rendered-master-9e786f4a442cb50f3dfeec92abb1675f';
export const WORKER = 'rendered-worker-25a1be6c1264c64551ae911d23717173';

const NO_REQUESTS: PendingCertificateRequests = { readable: true, requests: [] };

/** What a look at such a cluster comes to. */
export function checked(
  nodes: InspectedNode[],
  pools: InspectedPool[],
  {
    configs = [MASTER, WORKER],
    requests = NO_REQUESTS,
    explanations = {},
  }: {
    configs?: string[];
    requests?: PendingCertificateRequests;
    explanations?: Readonly<Record<string, string>>;
  } = {},
): CheckResult & { readonly report: CheckReport } {
  const read = snapshot(nodes, pools, configs);
  const judged = checkConsistency(read, EVERYTHING);
  const pending = requests.readable ? requests.requests.map(({ name }) => name) : [];
  const one: CheckResult = {
    server: '127.0.0.1:6443',
    at: new Date('2026-11-20T12:00:00Z'),
    consistency: judged,
    requests,
    explanations: new Map(Object.entries(explanations)),
    repairs: planRepairs(judged, read.configs, pending),
  };
  return { ...one, report: buildCheckReport(one, 0) };
}

/** The install that ended at 93 %: the masters name what the bootstrap host rendered and the cluster never had. */
export function incidentB(): ReturnType<typeof checked> {
  const stuck = { current: MISSING, desired: MISSING, role: 'master', state: 'Degraded' };
  const reason = `missing MachineConfig ${MISSING}\nmachineconfigs "${MISSING}" not found`;
  return checked(
    [
      ...['control1.gw.lo', 'control2.gw.lo'].map((name) => Object.assign(inspectedNode(name, stuck), { reason })),
      ...['worker0.gw.lo', 'worker1.gw.lo'].map((name) => inspectedNode(name, { current: WORKER, desired: WORKER })),
    ],
    [inspectedPool('master', { spec: MASTER }), inspectedPool('worker', { spec: WORKER, status: WORKER })],
    {
      requests: {
        readable: true,
        requests: [
          {
            name: 'csr-8vnps',
            node: 'control0.gw.lo',
            signer: 'kubernetes.io/kube-apiserver-client-kubelet',
            createdAt: new Date('2026-11-20T11:48:00Z'),
          },
        ],
      },
    },
  );
}

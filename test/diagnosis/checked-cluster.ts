import type { CheckReport, ClusterCheck } from '../../src/cli/check/check-cluster.ts';
import type { PendingCertificateRequests } from '../../src/client/certificate-requests.ts';
import { parseInspectedNode, parseInspectedPool } from '../../src/client/inspected-objects.ts';
import type { MissingConfigReport } from '../../src/diagnosis/cause.ts';
import type { DiagnosisScope } from '../../src/diagnosis/cluster.ts';
import type { ClusterSnapshot, InspectedNode, InspectedPool } from '../../src/diagnosis/cluster-snapshot.ts';
import { diagnose } from '../../src/diagnosis/diagnose.ts';
import { buildNode, buildPool, type NodeOptions, type PoolOptions } from '../support/operator-objects.ts';
import { type ConfigName, toConfigName } from '../../src/mco/machine-config.ts';

/** The names of an agent-based install that stopped at 93 % (OpenShift 4.18.32). */
export const MISSING = 'rendered-master-553d5d527988f8cd22e7791f6013fe42';
export const MASTER = 'rendered-master-9e786f4a442cb50f3dfeec92abb1675f';
export const WORKER = 'rendered-worker-25a1be6c1264c64551ae911d23717173';

const NOW = new Date('2026-11-20T12:00:00Z');

/** A node of a role, with the annotations that it has reported. */
export function inspectedNode(
  name: string,
  { role = 'worker', ...options }: NodeOptions & { readonly role?: string },
): InspectedNode {
  return parseInspectedNode(buildNode(name, { roles: [role], ...options }, NOW));
}

/** A pool of the nodes that have its name as their role. By default it is an hour old, and has one machine. */
export function inspectedPool(
  name: string,
  { updatedMachineCount, ...options }: PoolOptions & { readonly updatedMachineCount?: number },
): InspectedPool {
  const pool = parseInspectedPool(buildPool(name, { ageMinutes: 60, ...options }, NOW));
  if (updatedMachineCount === undefined) return pool;
  const counts = [1, updatedMachineCount, updatedMachineCount, 0] as const;
  return parseInspectedPool(buildPool(name, { ageMinutes: 60, counts, ...options }, NOW));
}

export function names(configs: readonly string[]): ReadonlySet<ConfigName> {
  return new Set(configs.map(toConfigName));
}

interface CheckFacts extends Partial<Pick<ClusterSnapshot, 'controlPlaneSize' | 'skippedNodes' | 'unreadable'>> {
  readonly configs?: readonly string[];
  readonly terminatingConfigs?: readonly string[];
  readonly guard?: Readonly<Record<string, Partial<MissingConfigReport>>>;
  readonly requests?: Partial<PendingCertificateRequests>;
  readonly scope?: Partial<DiagnosisScope>;
}

/** Checks a cluster in which by default MASTER and WORKER exist. */
export function check(...args: Parameters<typeof checkWithCauses>): CheckReport {
  return checkWithCauses(...args).report;
}

/** Like {@link check}, with the causes that its text explains. */
export function checkWithCauses(
  nodes: readonly InspectedNode[],
  pools: readonly InspectedPool[],
  { configs = [MASTER, WORKER], terminatingConfigs = [], guard = {}, requests = {}, scope, ...facts }: CheckFacts = {},
): ClusterCheck {
  const pendingCertificateRequests = { readable: true, reason: null, requests: [], ...requests };
  const snapshot = {
    nodes,
    pools,
    configs: names(configs),
    terminatingConfigs: names(terminatingConfigs),
    pendingRequests: pendingCertificateRequests.requests,
    ...facts,
  };
  const known = { now: NOW, guardReports: new Map(Object.entries(guard)), ...scope };
  const { causes, ...diagnosis } = diagnose(snapshot, known);
  const report = {
    server: '127.0.0.1:6443',
    checkedAt: NOW.toISOString(),
    waitedSeconds: 0,
    ...diagnosis,
    pendingCertificateRequests,
  };
  return { report, causes };
}

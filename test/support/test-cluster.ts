import { onTestFinished } from 'vitest';
import { type Authority, createAuthority } from '../../src/certificates/authority.ts';
import {
  type InMemoryCluster,
  type InMemoryClusterOptions,
  startInMemoryCluster,
} from '../../src/demo/cluster/in-memory-cluster.ts';

let authority: Promise<Authority> | undefined;

/** A sandbox that ends with the test. One authority a file: making one takes longer than most tests. */
export async function startTestCluster(options: InMemoryClusterOptions = {}): Promise<InMemoryCluster> {
  authority ??= createAuthority({ days: 1, now: new Date() });
  const sandbox = await startInMemoryCluster({ authority: await authority, ...options });
  onTestFinished(async () => {
    await sandbox.stop();
  });
  return sandbox;
}

export const NODES = '/api/v1/nodes';
export const POOLS = '/apis/machineconfiguration.openshift.io/v1/machineconfigpools';
export const CONFIGS = '/apis/machineconfiguration.openshift.io/v1/machineconfigs';

/** What a client sends that wants metadata alone. */
export const METADATA_LIST = { accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1' };
export const METADATA = { accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1' };

/** The in-memory cluster with everything that can go wrong in it. */
export type TestCluster = InMemoryCluster;

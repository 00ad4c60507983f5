import { restore } from '../../../src/cli/restore/restore-run.ts';
import type { KubeApi } from '../../../src/kube/api.ts';
import { renderConfig } from '../../support/rendered-configs.ts';
import { toConfigOnDisk } from '../../support/config-on-disk.ts';
import { sharedInstalledCluster } from '../support/installed-cluster.ts';
import { createState } from '../support/cluster-states.ts';

const { name, spec } = renderConfig('master', 'X');

/** The missing config. */
export const MISSING = toConfigOnDisk('master', { ...spec }, name);
export const MASTERS = ['control1', 'control2'];

export const installed = await sharedInstalledCluster();

/** Masters of an install that name a config which was never in the API, and a third machine that waits for it. */
export async function createStuckInstall(): Promise<void> {
  await installed.clear();
  await createState(installed, 'R1 while the third master waits for the config');
}

/** Restores the missing config, or plans it. Returns the report. */
export async function restoreMissing(api: KubeApi, isConfirmed: boolean) {
  const options = { configs: [MISSING.config], isConfirmed, acceptContent: false, timeoutMs: 100_000, intervalMs: 50 };
  return (await restore(api, options)).report;
}

import { restore } from '../../../src/cli/restore/restore-run.ts';
import type { KubeApi } from '../../../src/kube/api.ts';
import { renderConfig } from '../../diagnosis/states.ts';
import { toConfigOnDisk } from '../../support/config-on-disk.ts';
import { sharedInstalledCluster } from '../support/installed-cluster.ts';
import { StateCluster } from '../states/state-cluster.ts';

const { name, spec } = renderConfig('X', 'master');

/** The missing config. */
export const MISSING = toConfigOnDisk('master', { ...spec }, name);
export const MASTERS = ['control1', 'control2'];

export const installed = await sharedInstalledCluster();
export const states = new StateCluster(installed);

/** Masters of an install that name a config which was never in the API, and a third machine that waits for it. */
export async function createStuckInstall(): Promise<void> {
  await installed.clear();
  await states.create('R1-waiting', { config: renderConfig('X', 'master') });
}

/** Restores the missing config, or plans it. Returns the report. */
export async function restoreMissing(api: KubeApi, isConfirmed: boolean) {
  const options = { configs: [MISSING.config], isConfirmed, acceptContent: false, timeoutMs: 100_000, intervalMs: 50 };
  return (await restore(api, options)).report;
}

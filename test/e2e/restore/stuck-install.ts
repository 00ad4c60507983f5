import { restore } from '../../../src/cli/restore/restore-run.ts';
import type { KubeApi } from '../../../src/kube/api.ts';
import { renderConfig } from '../../diagnosis/states.ts';
import { toConfigOnDisk } from '../../support/config-on-disk.ts';
import { sharedInstalledCluster } from '../support/installed-cluster.ts';
import { StateCluster } from '../states/state-cluster.ts';

/** Masters of an install that name a config which was never in the API, and a third machine that waits for it. */
const STUCK = `
  N control1 · master · X · X · Degraded · machineconfig "X" not found
  N control2 · master · X · X · Degraded · machineconfig "X" not found
  P master · Y · - · 2/0/0/2
  MC Y
  K 3`;
const { name, spec } = renderConfig('X', 'master');

/** The missing config. */
export const MISSING = toConfigOnDisk('master', { ...spec }, name);
export const MASTERS = ['control1', 'control2'];

export const installed = await sharedInstalledCluster();
export const states = new StateCluster(installed);

export async function createStuckInstall(): Promise<void> {
  await installed.clear();
  await states.createFrom(STUCK, { config: renderConfig('X', 'master') });
}

/** Restores the missing config, or plans it. Returns the report. */
export async function restoreMissing(api: KubeApi, isConfirmed: boolean) {
  const options = { configs: [MISSING.config], isConfirmed, acceptContent: false, timeoutMs: 100_000, intervalMs: 50 };
  return (await restore(api, options)).report;
}

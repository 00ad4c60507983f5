import { dirname } from 'node:path';

import { expect, test } from 'vitest';

import { KubeClient, statusOf } from '../control-plane/kube-client.ts';
import { pause, until } from '../control-plane/until.ts';
import { PATHS } from '../support/paths.ts';
import { IS_LONG } from '../support/run-binaries.ts';
import { sharedInstalledCluster } from '../support/shared-clusters.ts';

const installed = await sharedInstalledCluster();
const { cluster } = installed;
/** The documentation promises 2 s. Another 2 s are for a busy machine. */
const EFFECT_MS = 4_000;
const PHASE_MS = 5_000;
const PHASES = [
  ['Audit', 200],
  ['Enforce', 403],
  ['Disabled', 200],
  ['Enforce', 403],
] as const;

test('a change of the mode has its effect within 2 s on every replica', async () => {
  const config = await cluster.config();
  await cluster.node({ currentConfig: config });
  const answers: { readonly sentAt: number; readonly answeredAt: number; readonly status: number }[] = [];
  const stop = new AbortController();
  const runClient = async () => {
    const client = new KubeClient(cluster.connection.admin);
    while (!stop.signal.aborted) {
      const sentAt = performance.now();
      const { status } = await client.delete(`${PATHS.configs}/${config}`, { dryRun: 'All' });
      answers.push({ sentAt, answeredAt: performance.now(), status });
      await pause(20);
    }
  };
  const clients = Array.from({ length: 4 }, runClient);
  const phases: { mode: string; status: number; from: number; to: number }[] = [];
  for (const [mode, status] of IS_LONG ? PHASES : PHASES.slice(0, 2)) {
    await cluster.admin.patch(PATHS.guard, { spec: { mode } });
    const from = performance.now() + EFFECT_MS;
    await pause(PHASE_MS);
    // A busy machine answers less often.
    const countSettled = () => answers.filter(({ sentAt }) => sentAt > from).length;
    await until('answers after the change', async () => countSettled() > 10, { timeoutMs: 60_000 });
    phases.push({ mode, status, from, to: performance.now() });
  }
  stop.abort();
  await Promise.all(clients);

  expect(answers.filter(({ status }) => status !== 200 && status !== 403)).toEqual([]);
  for (const { mode, status, from, to } of phases) {
    // A call that is open when the mode changes again may get either answer.
    const settled = answers.filter(({ sentAt, answeredAt }) => sentAt > from && answeredAt < to);
    expect(settled.length).toBeGreaterThan(10);
    expect([mode, ...new Set(settled.map((answer) => answer.status))]).toEqual([mode, status]);
  }
}, 300_000);

test('a deleted MachineConfigGuard means Enforce, and the guard creates it again', async () => {
  await installed.setSettings({ mode: 'Disabled', holdSuperseded: '0s' });
  const config = await cluster.config();
  await cluster.node({ currentConfig: config });

  await cluster.admin.delete(PATHS.guard);

  const dryRunStatus = async () => (await cluster.dryRun(config)).status;
  await expect.poll(dryRunStatus, { timeout: EFFECT_MS }).toBe(403);
  const readSpec = async () => (await cluster.admin.find(PATHS.guard))?.spec;
  await expect.poll(readSpec).toEqual({ mode: 'Enforce' });
  await installed.setSettings({ mode: 'Enforce', holdSuperseded: '0s' });
});

test.for([
  ['spec.mode', { mode: 'Off' }, 'supported values: "Enforce", "Warn", "Audit", "Disabled"'],
  ['spec.holdSuperseded', { holdSuperseded: 'soon' }, 'it must be a duration such as'],
  ['spec.holdSuperseded', { holdSuperseded: '99999999999h' }, 'it must be a duration such as'],
  ['spec.holdSuperseded', { holdSuperseded: '721h' }, 'it must not be longer than 720h'],
] as const)('the API server rejects an invalid %s: %j', async ([field, spec, message]) => {
  const extras = { contentType: 'application/merge-patch+json' };
  const response = await cluster.admin.request('PATCH', PATHS.guard, { spec }, extras);

  expect(response.status).toBe(422);
  expect(statusOf(response).message).toContain(field);
  expect(statusOf(response).message).toContain(message);
});

test('the API server rejects another name than cluster', async () => {
  const object = {
    apiVersion: 'machineconfig-guard.io/v1alpha1',
    kind: 'MachineConfigGuard',
    metadata: { name: 'mine' },
  };
  const { status, body } = await cluster.admin.request('POST', dirname(PATHS.guard), object);

  expect(status).toBe(422);
  expect(body).toMatchObject({ message: expect.stringContaining('its name is "cluster"') });
});

import { readFile } from 'node:fs/promises';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { statusOf } from '../control-plane/kube-client.ts';
import { pause, until } from '../control-plane/until.ts';
import { auditedVerdicts } from '../support/audit-log.ts';
import { unique } from '../support/cluster.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { kubectl, kubectlOk } from '../support/kubectl.ts';
import { PATHS } from '../support/paths.ts';
import { runBinaries } from '../support/run-binaries.ts';

/** Within which a change of the mode works. */
const EFFECT_MS = 2_000;

let installed: InstalledCluster;

beforeAll(async () => {
  installed = await InstalledCluster.start(await runBinaries());
  await installed.applyOverlay('service-ca');
  await installed.awaitGuard();
}, 120_000);

afterAll(() => installed.stop());

/** Sets what is to hold and gives every replica the time that is promised. */
async function set(spec: object): Promise<void> {
  await installed.cluster.admin.patch(PATHS.guard, { spec });
  await pause(EFFECT_MS);
}

async function usedConfig(annotations: Record<string, string> = {}): Promise<string> {
  const config = await installed.cluster.config({ annotations });
  await installed.cluster.node({ name: unique('used'), currentConfig: config });
  return config;
}

test('the guard makes the object where there is none, with an empty spec', async () => {
  const object = await until('the MachineConfigGuard', () => installed.cluster.admin.find(PATHS.guard), {
    timeoutMs: 5_000,
  });

  expect(object.spec).toEqual({ mode: 'Enforce', holdSuperseded: '0s' });
});

describe.each([
  ['Enforce', 403, 'denied', 'MCG_IN_USE', false],
  ['Warn', 200, 'would-deny', 'MCG_WOULD_DENY', true],
  ['Audit', 200, 'would-deny', 'MCG_WOULD_DENY', false],
  ['Disabled', 200, 'allowed', 'MCG_DISABLED', false],
] as const)('mode %s', (mode, status, outcome, code, warned) => {
  test('a config in use', async () => {
    await set({ mode });
    const config = await usedConfig();

    const response = await installed.cluster.delete(config);

    expect(response.status).toBe(status);
    expect(response.warnings.length > 0).toBe(warned);
    const audited = auditedVerdicts(await installed.cluster.auditEvent(response));
    expect(audited).toEqual({ [outcome]: expect.objectContaining({ name: config, code }) });
    expect(await installed.cluster.exists(config)).toBe(status === 403);
  });

  test('a config that nothing uses is deleted', async () => {
    const config = await installed.cluster.config();

    const response = await installed.cluster.delete(config);

    expect(response.status).toBe(200);
    const { allowed } = auditedVerdicts(await installed.cluster.auditEvent(response));
    expect(allowed?.code).toBe(mode === 'Disabled' ? 'MCG_DISABLED' : 'MCG_NOT_IN_USE');
  });

  test('an override is an override', async () => {
    const config = await usedConfig({ 'machineconfig-guard.io/allow-deletion': 'CHG-7' });

    const response = await installed.cluster.delete(config);

    expect(response.status).toBe(200);
    const { overridden } = auditedVerdicts(await installed.cluster.auditEvent(response));
    expect(overridden).toMatchObject({ code: 'MCG_OVERRIDDEN', reason: 'CHG-7' });
  });
});

test('a change reaches every replica, and none had to be restarted', async () => {
  const before = installed.kubelet.history.length;
  await set({ mode: 'Audit' });
  await set({ mode: 'Enforce' });

  expect(installed.kubelet.history).toHaveLength(before);
  for (const { log } of installed.kubelet.pods) {
    const lines = (await readFile(log, 'utf8')).split('\n');
    expect(lines.findLast((line) => line.includes('"msg":"mode is '))).toContain('mode is Enforce');
  }
});

test('holdSuperseded keeps a config that was superseded a moment ago, and says until when', async () => {
  await set({ mode: 'Enforce', holdSuperseded: '1h' });
  const older = await installed.cluster.config();
  await pause(1_100);
  await installed.cluster.config();

  const response = await installed.cluster.delete(older);

  expect(response.status).toBe(403);
  expect(statusOf(response).message).toMatch(
    /MCG_HELD: rendered-worker-\w+ was superseded at \S+Z and is held until \S+Z: /,
  );
  await set({ holdSuperseded: '0s' });
  expect((await installed.cluster.delete(older)).status).toBe(200);
});

test('deleted, Enforce holds, and the object comes back', async () => {
  await set({ mode: 'Disabled' });
  const config = await usedConfig();

  await installed.cluster.admin.delete(PATHS.guard);
  await pause(EFFECT_MS);

  expect((await installed.cluster.delete(config)).status).toBe(403);
  await until('the MachineConfigGuard', () => installed.cluster.admin.find(PATHS.guard), { timeoutMs: 15_000 });
});

test('applying the manifests again does not change the mode', async () => {
  await set({ mode: 'Audit' });

  await installed.applyOverlay('service-ca');

  expect((await installed.cluster.admin.find(PATHS.guard))?.spec).toMatchObject({ mode: 'Audit' });
  await set({ mode: 'Enforce' });
});

describe('the API server refuses, readably', () => {
  test.each([
    ['spec.mode', { mode: 'Off' }, 'supported values: "Enforce", "Warn", "Audit", "Disabled"'],
    ['spec.mode', { mode: false }, 'must be of type string'],
    ['spec.holdSuperseded', { holdSuperseded: 'soon' }, 'it must be a duration such as 0s, 30m, 24h or 1h30m'],
    ['spec.holdSuperseded', { holdSuperseded: '-1h' }, 'it must be a duration such as'],
    ['spec.holdSuperseded', { holdSuperseded: '99999999999h' }, 'it must be a duration such as'],
    ['spec.holdSuperseded', { holdSuperseded: '721h' }, 'it must not be longer than 720h'],
  ])('%s %j', async (field, spec, says) => {
    const patch = JSON.stringify({ spec });
    const { exitCode, stderr } = await kubectl(installed.controlPlane, [
      'patch',
      'mcguard',
      'cluster',
      '--type=merge',
      '-p',
      patch,
    ]);

    expect(exitCode).toBe(1);
    expect(stderr).toContain(field);
    expect(stderr).toContain(says);
  });

  test('another name than cluster', async () => {
    const object = {
      apiVersion: 'machineconfig-guard.io/v1alpha1',
      kind: 'MachineConfigGuard',
      metadata: { name: 'mine' },
    };
    const { exitCode, stderr } = await kubectl(installed.controlPlane, ['apply', '-f', '-'], JSON.stringify(object));

    expect(exitCode).toBe(1);
    expect(stderr).toContain('there is one MachineConfigGuard, and its name is "cluster"');
  });
});

test('kubectl explain tells what each field is for', async () => {
  for (const field of [
    'spec.mode',
    'spec.holdSuperseded',
    'status.danglingReferences.suggestion',
    'status.lastDenial',
  ]) {
    expect(await kubectlOk(installed.controlPlane, ['explain', `mcguard.${field}`])).toMatch(/DESCRIPTION:\n {4}\S/);
  }
});

test('kubectl get shows the columns', async () => {
  const table = await kubectlOk(installed.controlPlane, ['get', 'mcguard']);

  expect(table.split('\n')[0]?.split(/\s{2,}/)).toEqual(
    expect.arrayContaining(['NAME', 'MODE', 'READY', 'PROTECTED', 'DANGLING', 'LAST DENIAL', 'AGE']),
  );
});

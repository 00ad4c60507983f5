import { mkdtemp, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { REFERENCE_WEBHOOK_NAME } from '../../../src/install/webhook-configuration.ts';
import { auditedVerdicts } from '../support/audit-log.ts';
import { renderedName } from '../support/objects.ts';
import { MANIFESTS } from '../support/overlays.ts';
import { PATHS } from '../support/paths.ts';
import { annotationPatch, awaitReferenceGuard, sendPatch } from '../support/reference-guard.ts';
import { sharedInstalledCluster } from '../support/shared-clusters.ts';

const installed = await sharedInstalledCluster();
const { cluster, controlPlane } = installed;
const directory = await mkdtemp(join(controlPlane.directory, 'references-'));

beforeAll(async () => {
  const components = [relative(directory, join(MANIFESTS, 'components', 'reference-guard'))];
  await writeFile(join(directory, 'kustomization.yaml'), JSON.stringify({ components }));
  await installed.applyOverlay(directory);
  await awaitReferenceGuard(cluster);
}, 60_000);

afterAll(async () => {
  await installed.setSettings({ mode: 'Enforce', holdSuperseded: '0s' });
  await cluster.admin.delete(PATHS.referenceWebhook);
});

test.each([
  ['Enforce', 403, 'denied', 0],
  ['Warn', 200, 'would-deny', 1],
  ['Audit', 200, 'would-deny', 0],
  ['Disabled', 200, 'allowed', 0],
] as const)(
  'mode %s answers a typo with %d and audits it as %s',
  async (mode, status, outcome, warnings) => {
    await installed.setSettings({ mode, holdSuperseded: '0s' });
    const path = `${PATHS.nodes}/${await cluster.node()}`;
    const typo = renderedName();

    const response = await sendPatch(cluster.admin, path, annotationPatch({ desiredConfig: typo }));

    expect(response.status).toBe(status);
    const warning = `MCG_WOULD_DENY (MCG_UNKNOWN_CONFIG): no MachineConfig is named "${typo}"`;
    expect(response.warnings).toEqual(warnings === 0 ? [] : [warning]);
    const audited = auditedVerdicts(await cluster.auditEvent(response), REFERENCE_WEBHOOK_NAME);
    expect(audited).toMatchObject({ [outcome]: { name: typo } });
  },
);

test('an installation without the component answers deletions as before', async () => {
  await installed.setSettings({ mode: 'Enforce', holdSuperseded: '0s' });
  await installed.deleteOverlay(directory);
  const config = await cluster.config();
  const name = await cluster.node({ currentConfig: config });
  const path = `${PATHS.nodes}/${await cluster.node()}`;
  const isAllowed = async () =>
    (await sendPatch(cluster.admin, path, annotationPatch({ desiredConfig: renderedName() }))).status ===
    200;
  await expect.poll(isAllowed, { timeout: 20_000 }).toBe(true);
  await cluster.expectDenied(config, [{ kind: 'Node', name, field: 'currentConfig' }]);
});

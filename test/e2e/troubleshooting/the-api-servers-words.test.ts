import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { createAuthority } from '../../../src/certs/authority.ts';
import { expectStatus, statusOf } from '../control-plane/kube-client.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { PATHS } from '../support/paths.ts';
import { runBinaries } from '../support/run-binaries.ts';

const PAGE = readFileSync(fileURLToPath(new URL('../../../docs/troubleshooting.md', import.meta.url)), 'utf8');
const DEPLOYMENT = '/apis/apps/v1/namespaces/machineconfig-guard/deployments/machineconfig-guard';
const WEBHOOK = `${PATHS.webhookConfigurations}/machineconfig-guard`;

let installed: InstalledCluster;
let config: string;

beforeAll(async () => {
  installed = await InstalledCluster.start(await runBinaries());
  await installed.applyOverlay('service-ca');
  await installed.awaitGuard();
  config = await installed.cluster.config();
}, 120_000);

afterAll(() => installed.stop());

/** A text of the page, as something that a message can be compared with. */
function quoted(end: string): RegExp {
  const quote = [...PAGE.matchAll(/^### `(?<text>.*)`$/gm)].map(({ groups }) => groups?.['text'] ?? '');
  const found = quote.find((text) => text.endsWith(end));
  if (found === undefined) throw new Error(`docs/troubleshooting.md quotes nothing that ends with ${end}.`);
  const parts = found.split('…').map((part) => part.trim().replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(parts.join('.*'));
}

/** What is said to somebody who deletes a config that nothing uses. */
async function said(): Promise<string> {
  return statusOf(await installed.dryRun(config)).message ?? '';
}

test('no replica', async () => {
  await installed.cluster.admin.patch(DEPLOYMENT, { spec: { replicas: 0 } });

  const text = quoted('no endpoints available for service "machineconfig-guard"');
  await expect.poll(said, { timeout: 20_000 }).toMatch(text);

  await installed.cluster.admin.patch(DEPLOYMENT, { spec: { replicas: 2 } });
  await expect.poll(said, { timeout: 20_000 }).toBe('');
});

test('another authority', async () => {
  const { admin } = installed.cluster;
  const other = await createAuthority({ days: 30, now: new Date() });
  const patch = [
    { op: 'remove', path: '/metadata/annotations/service.beta.openshift.io~1inject-cabundle' },
    {
      op: 'replace',
      path: '/webhooks/0/clientConfig/caBundle',
      value: Buffer.from(other.certificatePem).toString('base64'),
    },
  ];
  const response = await admin.request('PATCH', WEBHOOK, patch, { contentType: 'application/json-patch+json' });
  expectStatus(response, [200], 'PATCH');

  const text = quoted('x509: certificate signed by unknown authority');
  await expect.poll(said, { timeout: 20_000 }).toMatch(text);
});

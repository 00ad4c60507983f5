import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { InstalledCluster } from '../support/installed-cluster.ts';
import { kubectlOk } from '../support/kubectl.ts';
import { program } from '../support/program.ts';
import { Prometheus, prometheusTools } from '../support/prometheus.ts';
import { runBinaries } from '../support/run-binaries.ts';
import { scrapingOf } from './service-monitor.ts';

const IMAGE = `registry.example.com/machineconfig-guard@sha256:${'a'.repeat(64)}`;

let installed: InstalledCluster;
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'mcg-rendered-'));
  await program('render', '--out', directory, '--image', IMAGE, '--kubernetes-version', '1.31');
  installed = await InstalledCluster.start(await runBinaries(), { prometheusOperator: true });
  await kubectlOk(installed.controlPlane, ['apply', '--filename', directory]);
  await installed.awaitGuard();
}, 120_000);

afterAll(async () => {
  await installed.stop();
  await rm(directory, { recursive: true });
});

test('with overlays/monitoring-rendered beside it, all replicas are scraped; their certificates are of the rendered authority', async () => {
  await installed.applyOverlay('monitoring-rendered');
  const { job, files } = await scrapingOf(installed);
  const configuration = {
    global: { scrape_interval: '500ms' },
    scrape_configs: [{ ...job, job_name: 'machineconfig-guard' }],
  };
  const prometheus = await Prometheus.start(await prometheusTools(), configuration, files);
  try {
    const replicas = async () => (await prometheus.query('mcguard_build_info')).length;
    await expect.poll(replicas, { timeout: 20_000 }).toBe(2);
  } finally {
    await prometheus.stop();
  }
});

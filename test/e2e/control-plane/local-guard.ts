import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { createAuthority, issueLeaf } from '../../../src/certificates/authority.ts';
import { buildWebhookConfiguration } from '../../../src/install/registration.ts';
import { PATHS } from '../support/paths.ts';
import type { ControlPlane } from './control-plane.ts';
import { freePorts } from './free-ports.ts';
import { isHealthy } from './until.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const HOST = '127.0.0.1';
/** Of the Lease. `status` looks there. */
const NAMESPACE = 'machineconfig-guard';
/** The API server needs up to a second for a new webhook. */
const REGISTRATION_MS = 2_000;

/** Starts the guard from its sources as a process of this machine, and registers its webhook. */
export async function startGuard(controlPlane: ControlPlane) {
  const { apiServer, directory } = controlPlane;
  const validity = { days: 90, now: new Date() };
  const authority = await createAuthority(validity);
  const leaf = await issueLeaf({ authority, dnsNames: [], ipAddresses: [HOST], ...validity });
  const files = { cert: join(directory, 'guard.crt'), key: join(directory, 'guard.key') };
  await writeFile(files.cert, leaf.certificatePem);
  await writeFile(files.key, leaf.privateKeyPem, { mode: 0o600 });
  const [securePort = 0, healthPort = 0] = await freePorts(2);
  const ports = [`--secure-port=${securePort}`, `--health-port=${healthPort}`, '--metrics-port=0'];
  const certificate = [`--tls-cert-file=${files.cert}`, `--tls-private-key-file=${files.key}`];
  const flags = [`--kubeconfig=${apiServer.kubeconfig}`, `--bind-address=${HOST}`, `--namespace=${NAMESPACE}`];
  const args = ['--import', 'tsx', 'src/cli/main.ts', 'serve', ...flags, ...ports, ...certificate];
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } };
  await apiServer.admin.create(PATHS.namespaces, namespace);
  const child = controlPlane.startChild('guard', process.execPath, args, { cwd: ROOT });
  await child.waitUntil(() => isHealthy(`http://${HOST}:${healthPort}/readyz`));
  const caBundle = Buffer.from(authority.certificatePem).toString('base64');
  const clientConfig = { url: `https://${HOST}:${securePort}/validate`, caBundle };
  await apiServer.admin.create(
    PATHS.webhookConfigurations,
    buildWebhookConfiguration({ clientConfig, failurePolicy: 'Fail' }),
  );
  await sleep(REGISTRATION_MS);
}

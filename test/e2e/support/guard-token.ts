import { rename, writeFile } from 'node:fs/promises';

import type { KubeClient } from '../control-plane/kube-client.ts';
import { unique } from './cluster.ts';
import { PATHS } from './paths.ts';
import { serviceAccountToken } from './service-account.ts';

/** The name of the guard's namespace and of its service account. */
const GUARD = 'machineconfig-guard';
const SECRETS = `${PATHS.guardNamespace}/secrets`;

/** Writes a token of the guard into a file. Each token is bound to a Secret, so that it can be revoked. */
export async function issueGuardToken(admin: KubeClient, file: string) {
  let secretName = '';

  /** Replaces the token by a rename, as a kubelet does. */
  async function replace() {
    const metadata = { name: unique('token') };
    const secret = await admin.create(SECRETS, { apiVersion: 'v1', kind: 'Secret', metadata });
    secretName = metadata.name;
    const token = await serviceAccountToken(admin, GUARD, GUARD, secret);
    await writeFile(`${file}.new`, token, { mode: 0o600 });
    await rename(`${file}.new`, file);
  }

  /** Revokes a token. The API server returns 401 as soon as its cache of valid tokens expires. */
  async function revoke(name = secretName) {
    await admin.delete(`${SECRETS}/${name}`);
  }

  /** Replaces the token and revokes the one before. */
  async function rotate() {
    const previous = secretName;
    await replace();
    await revoke(previous);
  }

  await replace();
  return { file, replace, revoke, rotate };
}

import { rename, writeFile } from 'node:fs/promises';

import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { KubeObject } from '../control-plane/kube-client.ts';
import { unique } from './cluster.ts';
import { PATHS } from './paths.ts';
import { serviceAccountToken } from './service-account.ts';

/** The name of the guard's namespace and of its service account. */
const GUARD = 'machineconfig-guard';
const SECRETS = `${PATHS.guardNamespace}/secrets`;

/** The guard's token, in a file that can get another token. Each token can be revoked. */
export class GuardToken {
  readonly file: string;
  readonly #controlPlane: ControlPlane;
  #secret: KubeObject | undefined;

  private constructor(controlPlane: ControlPlane, file: string) {
    this.#controlPlane = controlPlane;
    this.file = file;
  }

  static async issue(controlPlane: ControlPlane, file: string): Promise<GuardToken> {
    const token = new GuardToken(controlPlane, file);
    await token.replace();
    return token;
  }

  /** Replaces the token by a rename, as a kubelet does. */
  async replace(): Promise<void> {
    const { admin } = this.#controlPlane.apiServer;
    const metadata = { name: unique('token') };
    this.#secret = await admin.create(SECRETS, { apiVersion: 'v1', kind: 'Secret', metadata });
    const token = await serviceAccountToken(admin, GUARD, GUARD, this.#secret);
    await writeFile(`${this.file}.new`, token, { mode: 0o600 });
    await rename(`${this.file}.new`, this.file);
  }

  /** Replaces the token and revokes the one before. */
  async rotate(): Promise<void> {
    const previous = this.#secret;
    await this.replace();
    await this.#revoke(previous);
  }

  /** Revokes the token in the file. The API server returns 401 as soon as its cache of valid tokens expires. */
  async revoke(): Promise<void> {
    await this.#revoke(this.#secret);
  }

  async #revoke(secret: KubeObject | undefined): Promise<void> {
    if (secret !== undefined) await this.#controlPlane.apiServer.admin.delete(`${SECRETS}/${secret.metadata.name}`);
  }
}

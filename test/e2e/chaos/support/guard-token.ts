import { randomBytes } from 'node:crypto';
import { rename, writeFile } from 'node:fs/promises';

import type { ControlPlane } from '../../control-plane/control-plane.ts';
import type { KubeObject } from '../../control-plane/kube-client.ts';
import { PATHS } from '../../support/paths.ts';
import { serviceAccountToken } from '../../support/service-account.ts';

/** Of its ServiceAccount and of its namespace. */
const GUARD = 'machineconfig-guard';
const SECRETS = `${PATHS.namespaces}/${GUARD}/secrets`;

/** The guard's credentials: a file that another token can be written to, and tokens that can be revoked. */
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

  /** Writes a new one to the file, as kubelet does: at once. What it returns revokes the one before it. */
  async replace(): Promise<() => Promise<void>> {
    const before = this.#secret;
    const { admin } = this.#controlPlane.apiServer;
    const metadata = { name: `token-${randomBytes(4).toString('hex')}` };
    this.#secret = await admin.create(SECRETS, { apiVersion: 'v1', kind: 'Secret', metadata });
    const token = await serviceAccountToken(admin, GUARD, GUARD, this.#secret);
    await writeFile(`${this.file}.new`, token, { mode: 0o600 });
    await rename(`${this.file}.new`, this.file);
    return () => this.#revoke(before);
  }

  /** From now on the API server refuses the one in the file: 401, as soon as it has forgotten that it knew it. */
  async revoke(): Promise<void> {
    await this.#revoke(this.#secret);
  }

  async #revoke(secret: KubeObject | undefined): Promise<void> {
    if (secret !== undefined) await this.#controlPlane.apiServer.admin.delete(`${SECRETS}/${secret.metadata.name}`);
  }
}

import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Child } from './child.ts';
import { isHealthy } from './until.ts';

/** The storage of a control plane. */
export class Etcd {
  readonly url: string;
  readonly #startChild: () => Child;
  readonly #data: string;
  readonly #backup: string;
  #child: Child | undefined;

  /** @param ports for clients and for other members, of which there are none */
  constructor(directory: string, [port, peerPort]: readonly number[], startChild: (args: readonly string[]) => Child) {
    this.url = `http://127.0.0.1:${port}`;
    this.#data = join(directory, 'etcd');
    this.#backup = join(directory, 'etcd-backup');
    const peerUrl = `http://127.0.0.1:${peerPort}`;
    const args = [
      `--data-dir=${this.#data}`,
      `--listen-client-urls=${this.url}`,
      // Required by etcd whenever --listen-client-urls is set.
      `--advertise-client-urls=${this.url}`,
      `--listen-peer-urls=${peerUrl}`,
      `--initial-advertise-peer-urls=${peerUrl}`,
      `--initial-cluster=default=${peerUrl}`,
      '--unsafe-no-fsync',
    ];
    this.#startChild = () => startChild(args);
  }

  async start() {
    this.#child = this.#startChild();
    await this.#child.waitUntil(() => isHealthy(`${this.url}/health`));
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM') {
    await this.#child?.stop(signal);
  }

  /** Copies the data, and stops meanwhile. */
  async backUp() {
    await this.stop();
    await rm(this.#backup, { recursive: true, force: true });
    await cp(this.#data, this.#backup, { recursive: true });
    await this.start();
  }

  /** Replaces the data by the backup. It must be stopped. */
  async restore() {
    await rm(this.#data, { recursive: true });
    await cp(this.#backup, this.#data, { recursive: true });
    await this.start();
  }
}

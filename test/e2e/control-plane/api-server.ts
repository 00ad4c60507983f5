import { join } from 'node:path';
import type { Child } from './child.ts';
import { KubeClient, type KubeClientOptions } from './kube-client.ts';

/** One kube-apiserver. It keeps its address when it starts again. */
export class ApiServer {
  /** A cluster administrator, like the kubeconfig. */
  readonly admin: KubeClient;
  readonly kubeconfig: string;
  /** File with one JSON event per line. */
  readonly auditLog: string;
  /** File with the output of the process. */
  readonly log: string;
  readonly #startChild: () => Child;
  #child: Child | undefined;

  constructor(connection: KubeClientOptions, directory: string, startChild: () => Child) {
    this.admin = new KubeClient(connection);
    this.kubeconfig = join(directory, 'admin.kubeconfig');
    this.auditLog = join(directory, 'audit.log');
    this.log = `${directory}.log`;
    this.#startChild = startChild;
  }

  get url() {
    return this.admin.connection.url;
  }

  /** Returns when `/readyz` returns 200. */
  async start() {
    this.#child = this.#startChild();
    await this.#child.waitUntil(() => this.admin.isReady('/readyz'));
  }

  async kill() {
    await this.#child?.stop('SIGKILL');
  }
}

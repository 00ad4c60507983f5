import { mkdir, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { Child } from '../control-plane/child.ts';
import type { ProcessReaper } from '../control-plane/process-reaper.ts';
import { isHealthy } from '../control-plane/until.ts';
import { findPorts, type Ports } from './guard-process.ts';
import { imageEnvironment } from './image-environment.ts';
import { PROGRAM } from './program.ts';

/** The parts of a pod template that running the guard needs. */
export interface PodTemplate {
  readonly spec: {
    readonly containers: readonly {
      readonly args: readonly string[];
      readonly env?: readonly { readonly name: string; readonly value: string }[];
      readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
    }[];
    readonly volumes?: readonly {
      readonly name: string;
      readonly secret?: { readonly secretName: string };
      readonly configMap?: { readonly name: string };
    }[];
    readonly terminationGracePeriodSeconds: number;
  };
}

/**
 * One replica of the guard. Its ports differ from the template, because all pods share the address of this
 * machine.
 */
export class Pod {
  readonly name: string;
  readonly template: PodTemplate;
  /** Folder for the pod's volumes, credentials and log. */
  readonly directory: string;
  /** File with the output of the last container. */
  readonly log: string;
  /** File with the credentials of the pod's service account. */
  readonly kubeconfig: string;
  isTerminating = false;
  /** Undefined until the guard has logged its ports. */
  ports: Ports | undefined;
  readonly #reaper: ProcessReaper;
  readonly #volumeVersions = new Map<string, string>();
  #child: Child | undefined;

  constructor(name: string, template: PodTemplate, directory: string, reaper: ProcessReaper) {
    this.name = name;
    this.template = template;
    this.directory = directory;
    this.log = join(directory, 'guard.log');
    this.kubeconfig = join(directory, 'kubeconfig');
    this.#reaper = reaper;
  }

  get isRunning() {
    return this.#child?.isRunning === true;
  }

  get isStarted() {
    return this.#child !== undefined;
  }

  /** Starts or restarts the container. Its kubeconfig and its volumes must exist. */
  async start() {
    // Removes the ports of the container before.
    await writeFile(this.log, '');
    this.ports = undefined;
    const { args = [], env = [] } = this.template.spec.containers[0] ?? {};
    const ports = ['--secure-port=0', '--health-port=0', '--metrics-port=0'];
    this.#child = new Child({
      command: process.execPath,
      args: [
        PROGRAM,
        ...args.map((arg) => this.#resolveMount(arg)),
        ...ports,
        `--kubeconfig=${this.kubeconfig}`,
      ],
      logFile: this.log,
      reaper: this.#reaper,
      env: {
        PATH: process.env['PATH'],
        ...imageEnvironment(),
        ...Object.fromEntries(env.map(({ name, value }) => [name, this.#resolveMount(value)])),
      },
    });
  }

  /** Probes readiness. */
  async isReady() {
    if (!this.isRunning) return false;
    this.ports ??= await findPorts(this.log, 'listening');
    return this.ports !== undefined && isHealthy(`http://127.0.0.1:${this.ports.healthPort}/readyz`);
  }

  /** Sends SIGTERM, and SIGKILL after the grace period. */
  async terminate() {
    this.isTerminating = true;
    await this.#child?.stop('SIGTERM', this.template.spec.terminationGracePeriodSeconds * 1_000);
  }

  signal(signal: NodeJS.Signals) {
    this.#child?.kill(signal);
  }

  /** Writes data in base64 as a kubelet writes a Secret: into a new folder, to which one symbolic link then points. */
  async writeVolume(name: string, version: string, data: Readonly<Record<string, string>>) {
    if (this.#volumeVersions.get(name) === version) return;
    const volume = join(this.directory, name);
    const folder = `..${version}`;
    await mkdir(join(volume, folder), { recursive: true });
    for (const [file, content] of Object.entries(data)) {
      await writeFile(join(volume, folder, file), content, 'base64');
    }
    await symlink(folder, join(volume, '..data_tmp'));
    await rename(join(volume, '..data_tmp'), join(volume, '..data'));
    for (const file of Object.keys(data)) {
      // The link of an earlier version stays.
      await symlink(join('..data', file), join(volume, file)).catch(() => undefined);
    }
    this.#volumeVersions.set(name, version);
  }

  /** Replaces the mount path in an argument or a variable by the folder of the volume. */
  #resolveMount(value: string) {
    const mounts = this.template.spec.containers[0]?.volumeMounts ?? [];
    const replace = (text: string, { name, mountPath }: { name: string; mountPath: string }) =>
      text.replace(`${mountPath}/`, `${join(this.directory, name)}/`);
    return mounts.reduce(replace, value);
  }
}

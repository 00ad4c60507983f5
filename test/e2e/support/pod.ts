import { existsSync } from 'node:fs';
import { mkdir, readFile, readlink, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { Child } from '../control-plane/child.ts';
import type { Leash } from '../control-plane/leash.ts';
import { imageEnvironment } from './image-environment.ts';

const PROGRAM = fileURLToPath(new URL('../../../dist/machineconfig-guard.cjs', import.meta.url));

/** The parts of a pod template that a kubelet needs to run the guard. */
export interface PodTemplate {
  readonly spec: {
    readonly containers: readonly {
      readonly args: readonly string[];
      readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
    }[];
    readonly volumes?: readonly { readonly name: string; readonly secret: { readonly secretName: string } }[];
    readonly terminationGracePeriodSeconds: number;
  };
}

export interface PodOptions {
  readonly name: string;
  readonly template: PodTemplate;
  /** Becomes the pod's own folder: volumes and log. */
  readonly directory: string;
  /** File with the credentials of its service account. */
  readonly kubeconfig: string;
  readonly leash: Leash;
}

interface Ports {
  readonly securePort: number;
  readonly healthPort: number;
  readonly metricsPort: number;
}

/**
 * One replica of the guard, run as its pod template says: the bundle with the template's arguments, its Secret volumes in the
 * kubelet's layout. Only the ports differ, because all pods share this machine's address.
 */
export class Pod {
  readonly name: string;
  readonly template: PodTemplate;
  /** File with everything that it said. */
  readonly log: string;
  /** Its own folder. */
  readonly directory: string;
  /** File with its credentials. */
  readonly kubeconfig: string;
  readonly #leash: Leash;
  #child: Child | undefined;
  #ports: Ports | undefined;
  /** Which generation of each volume is the present one. */
  readonly #volumes = new Map<string, string>();
  terminating = false;

  constructor(options: PodOptions) {
    this.name = options.name;
    this.template = options.template;
    this.directory = options.directory;
    this.kubeconfig = options.kubeconfig;
    this.log = join(options.directory, 'guard.log');
    this.#leash = options.leash;
  }

  get running(): boolean {
    return this.#child?.running === true;
  }

  get started(): boolean {
    return this.#child !== undefined;
  }

  /** Ports in use, once the guard has told them. */
  get ports(): Ports | undefined {
    return this.#ports;
  }

  /** Starts (or starts again) the container. The volumes have to be there. */
  async start(): Promise<void> {
    if (!existsSync(PROGRAM)) throw new Error(`There is no ${PROGRAM}: run "npm run build" first.`);
    await mkdir(this.directory, { recursive: true });
    // What an earlier container of this pod said about its ports does not hold any more.
    await writeFile(this.log, '');
    this.#ports = undefined;
    const args = this.template.spec.containers[0]?.args ?? [];
    const own = ['--secure-port=0', '--health-port=0', '--metrics-port=0', `--kubeconfig=${this.kubeconfig}`];
    this.#child = new Child({
      command: process.execPath,
      args: [PROGRAM, ...args.map((arg) => this.#mounted(arg)), ...own],
      logFile: this.log,
      leash: this.#leash,
      env: { PATH: process.env['PATH'], ...imageEnvironment() },
    });
  }

  /** Whether its readiness probe succeeds. */
  async isReady(): Promise<boolean> {
    this.#ports ??= await this.#readPorts();
    if (this.#ports === undefined || !this.running) return false;
    try {
      const probe = `http://127.0.0.1:${this.#ports.healthPort}/readyz`;
      return (await fetch(probe, { signal: AbortSignal.timeout(1_000) })).ok;
    } catch {
      return false;
    }
  }

  /** As a kubelet does it: SIGTERM, then SIGKILL after the grace period. */
  async terminate(): Promise<number | null> {
    this.terminating = true;
    const graceMs = this.template.spec.terminationGracePeriodSeconds * 1_000;
    return (await this.#child?.stop('SIGTERM', graceMs)) ?? null;
  }

  /** Any signal, as from outside. */
  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  /** Writes the files of a Secret volume as a kubelet does: a new folder, then one symbolic link is exchanged. */
  async writeVolume(name: string, generation: string, files: Readonly<Record<string, Buffer>>): Promise<void> {
    if (this.#volumes.get(name) === generation) return;
    const volume = join(this.directory, name);
    const folder = `..${generation}`;
    await mkdir(join(volume, folder), { recursive: true });
    await Promise.all(Object.entries(files).map(([file, content]) => writeFile(join(volume, folder, file), content)));
    await symlink(folder, join(volume, '..data_tmp'));
    await rename(join(volume, '..data_tmp'), join(volume, '..data'));
    for (const file of Object.keys(files)) {
      const link = join(volume, file);
      if (await readlink(link).catch(() => undefined)) continue;
      await symlink(join('..data', file), link);
    }
    this.#volumes.set(name, generation);
  }

  /** A path below a mount, as it is outside the pod. */
  #mounted(arg: string): string {
    const mounts = this.template.spec.containers[0]?.volumeMounts ?? [];
    return mounts.reduce(
      (text, { name, mountPath }) => text.replace(`=${mountPath}/`, `=${join(this.directory, name)}/`),
      arg,
    );
  }

  async #readPorts(): Promise<Ports | undefined> {
    const lines = await readFile(this.log, 'utf8').catch(() => '');
    const line = lines.split('\n').find((one) => one.includes('"msg":"listening"') && one.endsWith('}'));
    return line === undefined ? undefined : (JSON.parse(line) as Ports);
  }
}

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { startExecServer } from '../../../support/exec-server.ts';
import type { Child } from '../../control-plane/child.ts';
import type { ControlPlane } from '../../control-plane/control-plane.ts';
import { freePorts } from '../../control-plane/free-ports.ts';
import { expectStatus, type KubeClient, type KubeObject } from '../../control-plane/kube-client.ts';
import { pause } from '../../control-plane/until.ts';
import { OPERATOR_NAMESPACE, PATHS, readAnnotations } from '../../support/objects.ts';
import { runOk } from '../../support/process.ts';
import { RELEASE_VERSION } from '../operator-objects.ts';
import { createDisk, FIRST_BOOT_FILE, type Installation, KUBECONFIG_FILE, startBoot, wantsReboot } from './disk.ts';
import { type IgnitionConfig, writeIgnitionConfig } from './ignition.ts';
import { DISK_ENVIRONMENT, enterDisk } from './machine-programs.ts';

const DAEMON = 'machine-config-daemon';
const PODS = `${PATHS.namespaces}/${OPERATOR_NAMESPACE}/pods`;
const DAEMON_SET = `/apis/apps/v1/namespaces/${OPERATOR_NAMESPACE}/daemonsets/${DAEMON}`;
/** The daemon's pod has the disk of its host here. */
const HOST_ROOT = '/rootfs';
const INTERVAL_MS = 100;

export interface MachineOptions extends Omit<Installation, 'kubeconfig'> {
  readonly name: string;
  /** Of the node's labels. */
  readonly roles: readonly string[];
  /** What the machine-config-server serves. */
  readonly config: IgnitionConfig;
  readonly controlPlane: ControlPlane;
}

/**
 * A machine with the real machine-config-daemon, and a disk as after the installation of RHCOS. The harness does what
 * Ignition, systemd and the kubelet do: the first boot, its service, the Node, restarts of the daemon, and reboots.
 */
export class Machine {
  readonly name: string;
  /** The folder that the daemon takes for the root of its host. */
  readonly disk: string;
  readonly #options: MachineOptions;
  readonly #admin: KubeClient;
  readonly #path: string;
  readonly #kubelet: ReturnType<typeof startExecServer>;
  readonly #metricsPort: number;
  #program: Child | undefined;
  #isOff = false;
  #isRegistered = false;
  #bootCount = 0;
  #life: Promise<unknown> = Promise.resolve();
  #failure: unknown;
  #removal: Promise<void> | undefined;

  private constructor(options: MachineOptions, metricsPort: number) {
    const { name, controlPlane } = options;
    this.name = name;
    this.disk = join(controlPlane.directory, 'machines', name);
    this.#options = options;
    this.#admin = controlPlane.apiServer.admin;
    this.#path = `${PATHS.nodes}/${name}`;
    this.#metricsPort = metricsPort;
    this.#kubelet = startExecServer(([command, file = '']) => {
      const stdout =
        command === 'cat' && file.startsWith(HOST_ROOT) ? this.read(file.slice(HOST_ROOT.length)) : undefined;
      return stdout === undefined
        ? { stderr: `${command}: ${file}: No such file or directory`, exitCode: 1 }
        : { stdout };
    });
  }

  /** Installs a machine, and boots it. Returns when its first boot is complete, and its Node exists. */
  static async boot(options: MachineOptions): Promise<Machine> {
    const [metricsPort = 0] = await freePorts(1);
    const machine = new Machine(options, metricsPort);
    const kubeconfig = readFileSync(options.controlPlane.apiServer.kubeconfig, 'utf8');
    await createDisk(machine.disk, { ...options, kubeconfig });
    await writeIgnitionConfig(machine.disk, options.config);
    machine.#life = machine.#live().catch((error: unknown) => (machine.#failure = error));
    while (!machine.#isRegistered && machine.#failure === undefined) await pause(INTERVAL_MS);
    if (machine.#failure !== undefined) await machine.remove();
    return machine;
  }

  /** How often the machine has booted. */
  get bootCount(): number {
    return this.#bootCount;
  }

  /** The text of a file on the disk, which the daemon's pod can read. */
  read(file: string): string | undefined {
    const path = join(this.disk, file);
    return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
  }

  /** Changes a file on the disk by hand. */
  write(file: string, text: string): void {
    writeFileSync(join(this.disk, file), text);
  }

  /** Runs a program on the disk, as an administrator who is logged in. */
  run(...command: readonly string[]): Promise<string> {
    return runOk(...enterDisk(this.disk, command), { env: DISK_ENVIRONMENT });
  }

  /** Kills the daemon. Its container starts again. */
  async killDaemon(): Promise<void> {
    await this.#program?.stop('SIGKILL');
  }

  /** The annotations of the node, those of the operator without their prefix. */
  async annotations(): Promise<Readonly<Record<string, string>>> {
    const node = await this.#admin.find(this.#path);
    return node === undefined ? {} : readAnnotations(node);
  }

  /** Creates the Node and the daemon's pod on it, as kubelet and controllers do. */
  async register(): Promise<void> {
    const labels = Object.fromEntries(this.#options.roles.map((role) => [`node-role.kubernetes.io/${role}`, '']));
    const metadata = {
      name: this.name,
      labels: { 'kubernetes.io/os': 'linux', 'kubernetes.io/hostname': this.name, ...labels },
      // Without any annotation, daemon and controller end with a panic.
      annotations: { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' },
    };
    await this.#admin.create(PATHS.nodes, { apiVersion: 'v1', kind: 'Node', metadata });
    await this.heartbeat();
    await this.#createDaemonPod();
    this.#isRegistered = true;
  }

  /** Writes a status that changes, as a kubelet does every 5 minutes. */
  async heartbeat(): Promise<void> {
    await this.#setReady('True', 'KubeletReady');
  }

  /** Sets the condition as the controller of nodes does when a kubelet has not written its status for a minute. */
  async stopKubelet(): Promise<void> {
    await this.#setReady('Unknown', 'NodeStatusUnknown');
  }

  /** Says that the disk is full, or with `False` no longer, as a kubelet does. */
  async setDiskPressure(status: 'True' | 'False'): Promise<void> {
    const conditions = [{ type: 'DiskPressure', status, reason: 'Test', message: 'kubelet has disk pressure' }];
    await this.#admin.patch(`${this.#path}/status`, { status: { conditions } });
  }

  /**
   * Switches the machine off, and removes its Node and its disk.
   * @throws Error if the harness has failed
   */
  remove(): Promise<void> {
    return (this.#removal ??= this.#remove());
  }

  async #remove(): Promise<void> {
    this.#isOff = true;
    await this.killDaemon();
    await this.#life;
    (await this.#kubelet).stop();
    await this.#admin.delete(PODS, { fieldSelector: `spec.nodeName=${this.name}`, gracePeriodSeconds: '0' });
    await this.#admin.delete(this.#path);
    await rm(this.disk, { recursive: true, maxRetries: 5 });
    if (this.#failure !== undefined) throw new Error(`machine ${this.name} failed`, { cause: this.#failure });
  }

  async #setReady(status: string, reason: string): Promise<void> {
    const lastHeartbeatTime = new Date().toISOString();
    const conditions = [{ type: 'Ready', status, reason, message: '', lastHeartbeatTime }];
    const { port } = await this.#kubelet;
    const addresses = [{ type: 'InternalIP', address: '127.0.0.1' }];
    const daemonEndpoints = { kubeletEndpoint: { Port: port } };
    await this.#admin.patch(`${this.#path}/status`, { status: { conditions, addresses, daemonEndpoints } });
  }

  async #live(): Promise<void> {
    while (!this.#isOff) {
      await startBoot(this.disk);
      this.#bootCount += 1;
      // In a file that no longer exists after this service.
      if (existsSync(join(this.disk, FIRST_BOOT_FILE))) {
        await this.#runDaemon('firstboot-complete-machineconfig', '--root-mount=/');
        if (wantsReboot(this.disk)) continue;
      }
      if (!this.#isRegistered && !this.#isOff) await this.register();
      while (!this.#isOff && !wantsReboot(this.disk)) {
        await this.#runDaemon(
          'start',
          '--root-mount=/',
          `--node-name=${this.name}`,
          `--kubeconfig=${KUBECONFIG_FILE}`,
          '--kubelet-healthz-enabled=false',
          `--metrics-url=127.0.0.1:${this.#metricsPort}`,
        );
      }
    }
  }

  /** Runs a command of the daemon until it ends, or wants a reboot. */
  async #runDaemon(...args: readonly string[]): Promise<void> {
    const [command, words] = enterDisk(this.disk, [DAEMON, ...args]);
    const env = { ...DISK_ENVIRONMENT, RELEASE_VERSION };
    const program = this.#options.controlPlane.startChild(`machines/${this.name}`, command, words, { env });
    this.#program = program;
    while (program.isRunning && !wantsReboot(this.disk) && !this.#isOff) await pause(INTERVAL_MS);
    await program.stop('SIGKILL');
  }

  /** The pod has an owner, so a drain ignores it. */
  async #createDaemonPod(): Promise<void> {
    const daemonSet = (await this.#admin.find(DAEMON_SET)) as KubeObject;
    const { apiVersion, kind, metadata } = daemonSet;
    const owner = { apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true };
    const response = await this.#admin.request('POST', PODS, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: `${DAEMON}-${this.name}`, labels: { 'k8s-app': DAEMON }, ownerReferences: [owner] },
      spec: { nodeName: this.name, containers: [{ name: DAEMON, image: 'mco' }] },
    });
    // It stays when only the Node is deleted.
    expectStatus(response, [201, 409], 'the creation of the pod');
  }
}

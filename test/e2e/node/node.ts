import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { until } from '../control-plane/until.ts';
import { runOk } from '../support/process.ts';
import { GUARD_ALIASES, type Images } from './images.ts';
import type { NodeAddresses } from './node-cluster.ts';
import { CNI_DIRECTORY } from './requirements.ts';

const RUN_NODE = join(import.meta.dirname, 'run-node.sh');
const CONNECT_NODE = join(import.meta.dirname, 'connect-node.sh');

interface NodeOptions {
  readonly name: string;
  readonly addresses: NodeAddresses;
  /** The folder with the programs of Kubernetes. */
  readonly binaries: string;
  readonly images: Images;
  readonly controlPlane: ControlPlane;
}

/**
 * A node with containerd, kubelet and kube-proxy, in a network, a mount and a PID namespace of its own. When this
 * process ends, for whatever reason, the kernel kills everything in them.
 */
export class Node {
  readonly name: string;
  readonly #options: NodeOptions;
  /** For its files, beside a log of the same name. */
  readonly #directory: string;
  readonly #namespaces: ChildProcess;
  /** Of the first process in the namespaces. */
  #pid = 0;

  private constructor(options: NodeOptions) {
    this.name = options.name;
    this.#options = options;
    this.#directory = join(options.controlPlane.directory, options.name);
    const log = openSync(`${this.#directory}.log`, 'a');
    // In a session of its own: Ctrl-C ends this process first, which then stops the node in order.
    this.#namespaces = spawn('sh', [RUN_NODE, this.#directory, this.#cgroup], {
      detached: true,
      stdio: ['pipe', log, log],
      env: { PATH: process.env['PATH'] },
    });
    closeSync(log);
    this.#namespaces.unref();
  }

  /** Returns when kubelet and kube-proxy have started. The API server may not know the node yet. */
  static async start(options: NodeOptions): Promise<Node> {
    await mkdir(join(options.controlPlane.directory, options.name));
    const node = new Node(options);
    try {
      await node.#awaitNamespaces();
      await node.#connectNetwork();
      await node.#startContainerd();
      await node.#startKubelet();
      await node.#startKubeProxy();
    } catch (error) {
      await node.stop();
      throw error;
    }
    return node;
  }

  /** Runs a command in the namespaces of the node and returns its standard output. */
  async run(...command: readonly string[]): Promise<string> {
    return runOk('nsenter', [...this.#enter(), ...command]);
  }

  /** Drops every packet between the node and the API server, as a broken switch does. */
  async disconnect() {
    for (const rule of SILENCE) await this.run('iptables', '-w', '-I', ...rule);
  }

  async reconnect() {
    for (const rule of SILENCE) await this.run('iptables', '-w', '-D', ...rule);
  }

  /** The folder of a container's memory cgroup. */
  containerCgroup(podUid: string, containerId: string): string {
    const pod = join('/sys/fs/cgroup/memory', this.#cgroup, 'kubepods/burstable', `pod${podUid}`);
    return join(pod, containerId.replace('containerd://', ''));
  }

  /** Ends all processes of the node at once, as a power cut does, and returns when nothing of it is left. */
  async stop() {
    if (this.#namespaces.exitCode !== null || this.#namespaces.signalCode !== null) return;
    this.#namespaces.ref();
    const exited = once(this.#namespaces, 'exit');
    this.#namespaces.stdin?.end();
    await exited;
  }

  get #cgroup() {
    return this.#options.addresses.link;
  }

  async #awaitNamespaces() {
    const isReady = async () => {
      if (this.#namespaces.exitCode === null) return existsSync(this.#path('pid'));
      throw new Error(`The namespaces of ${this.name} ended: ${readFileSync(`${this.#directory}.log`, 'utf8')}`);
    };
    await until(`the namespaces of ${this.name}`, isReady, { everyMs: 20 });
    this.#pid = Number(readFileSync(this.#path('pid'), 'utf8'));
  }

  async #connectNetwork() {
    const { gateway, link, address, podSubnet } = this.#options.addresses;
    await runOk('sh', [CONNECT_NODE, String(this.#pid), link, gateway, address, podSubnet]);
  }

  async #startContainerd() {
    const { images } = this.#options;
    const { podSubnet } = this.#options.addresses;
    await mkdir(this.#path('cni'));
    await this.#writeConfig('10-bridge.conflist', { POD_SUBNET: podSubnet }, 'cni');
    const config = await this.#writeConfig('containerd.toml', { PAUSE_IMAGE: images.pause.name, CNI_DIRECTORY });
    const containerd = this.#startChild('containerd', 'containerd', [`--config=${config}`]);
    await containerd.waitUntil(() => this.#ctr('version').then(Boolean, () => false));
    for (const { archive } of Object.values(images)) await this.#ctr('images', 'import', archive);
    await this.#ctr('images', 'tag', images.guard.name, ...GUARD_ALIASES);
  }

  #ctr(...args: readonly string[]) {
    const socket = this.#path('containerd.sock');
    return runOk('ctr', ['--address', socket, '--namespace', 'k8s.io', ...args]);
  }

  async #startKubelet() {
    const { name, addresses, binaries } = this.#options;
    const user = { as: `system:node:${name}`, 'as-groups': ['system:nodes'] };
    this.#startChild('kubelet', join(binaries, 'kubelet'), [
      `--config=${await this.#writeConfig('kubelet.yaml', { CGROUP: this.#cgroup })}`,
      `--kubeconfig=${await this.#writeKubeconfig('kubelet', user)}`,
      `--root-dir=${this.#path('kubelet')}`,
      `--cert-dir=${this.#path('certificates')}`,
      `--hostname-override=${name}`,
      `--node-ip=${addresses.address}`,
    ]);
  }

  async #startKubeProxy() {
    const kubeconfig = await this.#writeKubeconfig('kube-proxy', { as: 'system:kube-proxy' });
    const config = await this.#writeConfig('kube-proxy.yaml', { NODE_NAME: this.name, KUBECONFIG: kubeconfig });
    const command = join(this.#options.binaries, 'kube-proxy');
    this.#startChild('kube-proxy', command, [`--config=${config}`]);
  }

  /** Copies a file of the folder config, with these values instead of their names, and returns its path. */
  async #writeConfig(name: string, values: Readonly<Record<string, string>>, folder = '.'): Promise<string> {
    let text = await readFile(join(import.meta.dirname, 'config', name), 'utf8');
    for (const [key, value] of Object.entries({ ...values, DIRECTORY: this.#directory }))
      text = text.replaceAll(new RegExp(String.raw`\b${key}\b`, 'g'), value);
    const file = this.#path(join(folder, name));
    await writeFile(file, text);
    return file;
  }

  #path(name: string) {
    return join(this.#directory, name);
  }

  #enter(): readonly string[] {
    return ['--target', String(this.#pid), '--net', '--mount', '--pid', '--'];
  }

  /** Writes a kubeconfig of a component: the administrator, who impersonates it. */
  #writeKubeconfig(component: string, user: Readonly<Record<string, string | readonly string[]>>) {
    const { controlPlane, addresses } = this.#options;
    const server = new URL(controlPlane.apiServer.url);
    server.hostname = addresses.gateway;
    return controlPlane.writeKubeconfig(`${this.name}/${component}`, user, server.origin);
  }

  #startChild(name: string, command: string, args: readonly string[]) {
    // Without the proxies of this machine.
    const env = { PATH: process.env['PATH'] };
    const inside = [...this.#enter(), command, ...args];
    return this.#options.controlPlane.startChild(`${this.name}/${name}`, 'nsenter', inside, { env });
  }
}

/** The rules of a node that is cut off. */
const SILENCE = [
  ['INPUT', '--in-interface', 'eth0', '--jump', 'DROP'],
  ['FORWARD', '--in-interface', 'eth0', '--jump', 'DROP'],
  ['FORWARD', '--out-interface', 'eth0', '--jump', 'DROP'],
  ['OUTPUT', '--out-interface', 'eth0', '--jump', 'DROP'],
];

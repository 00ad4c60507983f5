import type { Child } from '../control-plane/child.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { freePorts } from '../control-plane/free-ports.ts';
import { isHealthy } from '../control-plane/until.ts';
import { imageEnvironment, PROGRAM } from './program.ts';

interface GuardProcessOptions {
  /** Of its kubeconfig and its log. */
  readonly name: string;
  /** The arguments of the guard, without its ports and its kubeconfig. */
  readonly args: readonly string[];
  /** File with the guard's credentials. */
  readonly kubeconfig: string;
  /** Folder with tls.crt and tls.key. */
  readonly certDir: string;
  /** PEM of the authority that issued the certificate. */
  readonly ca: string;
}

/** A replica of the guard as a process of this machine, with the environment of its image. */
export class GuardProcess {
  readonly ca: string;
  readonly certDir: string;
  /** File with the output of the process. */
  readonly log: string;
  readonly ports: { readonly securePort: number; readonly healthPort: number; readonly metricsPort: number };
  /** Address of the webhook. */
  readonly url: string;
  readonly healthUrl: string;
  readonly metricsUrl: string;
  readonly #startChild: () => Child;
  #child: Child;

  private constructor(
    controlPlane: ControlPlane,
    { name, args, kubeconfig, certDir, ca }: GuardProcessOptions,
    [securePort = 0, healthPort = 0, metricsPort = 0]: readonly number[],
  ) {
    this.ca = ca;
    this.certDir = certDir;
    this.log = `${controlPlane.directory}/${name}.log`;
    this.ports = { securePort, healthPort, metricsPort };
    this.url = `https://127.0.0.1:${securePort}/validate`;
    this.healthUrl = `http://127.0.0.1:${healthPort}`;
    this.metricsUrl = `https://127.0.0.1:${metricsPort}`;
    // The last flag counts. The replicas share the addresses of this machine.
    const ports = [`--secure-port=${securePort}`, `--health-port=${healthPort}`, `--metrics-port=${metricsPort}`];
    const serve = [PROGRAM, ...args, ...ports, `--kubeconfig=${kubeconfig}`, '--shutdown-delay-duration=0s'];
    const env = { PATH: process.env['PATH'], ...imageEnvironment() };
    this.#startChild = () => controlPlane.startChild(name, process.execPath, serve, { env });
    this.#child = this.#startChild();
  }

  /** Starts the bundled guard, and returns when it is ready. */
  static async start(controlPlane: ControlPlane, options: GuardProcessOptions): Promise<GuardProcess> {
    const guard = new GuardProcess(controlPlane, options, await freePorts(3));
    await guard.#awaitReady();
    return guard;
  }

  get isRunning() {
    return this.#child.isRunning;
  }

  /** The number of the current or last process. */
  get pid(): number {
    return this.#child.pid;
  }

  async stop(signal?: NodeJS.Signals) {
    await this.#child.stop(signal);
  }

  /** Kills the process and starts another one at the same ports, until it is ready. */
  async restart() {
    await this.stop('SIGKILL');
    this.#child = this.#startChild();
    await this.#awaitReady();
  }

  async #awaitReady() {
    await this.#child.waitUntil(() => isHealthy(`${this.healthUrl}/readyz`));
  }
}

/** The lines of a log that are complete JSON objects. Lines may lack fields of this type. */
export function parseJsonLines<Line>(log: string): Line[] {
  const objects = log.split('\n').filter((line) => line.startsWith('{') && line.endsWith('}'));
  return objects.map((line) => JSON.parse(line) as Line);
}

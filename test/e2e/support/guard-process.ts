import { readFile } from 'node:fs/promises';

import { Child } from '../control-plane/child.ts';
import { freePorts } from '../control-plane/free-ports.ts';
import type { ProcessReaper } from '../control-plane/process-reaper.ts';
import { isHealthy } from '../control-plane/until.ts';
import { imageEnvironment, PROGRAM } from './program.ts';

/** Fields of a log line about a decision. */
export interface DecisionLine {
  readonly name: string;
  /** The source of the answer: `index`, `live` or `none`. */
  readonly path: string;
}

/** Differences from the usual start of the guard. */
export interface Launch {
  /** A shell script that becomes the guard by `exec "$@"`. */
  readonly script?: string;
  readonly env?: NodeJS.ProcessEnv;
}

interface Ports {
  readonly securePort: number;
  readonly healthPort: number;
  readonly metricsPort: number;
}

interface GuardProcessOptions {
  /** The arguments of the guard, without its ports and its kubeconfig. */
  readonly args: readonly string[];
  /** File with the guard's credentials. */
  readonly kubeconfig: string;
  /** File for the output of the process. */
  readonly log: string;
  /** Folder with tls.crt and tls.key. */
  readonly certDir: string;
  /** PEM of the authority that issued the certificate. */
  readonly ca: string;
  readonly reaper: ProcessReaper;
}

/** A replica of the guard as a process of this machine, with the environment of its image. */
export class GuardProcess {
  readonly ports: Ports;
  readonly #options: GuardProcessOptions;
  #child: Child;

  private constructor(options: GuardProcessOptions, ports: Ports) {
    this.#options = options;
    this.ports = ports;
    this.#child = this.#startChild();
  }

  /** Starts the bundled guard, and returns when it is ready. */
  static async start(options: GuardProcessOptions): Promise<GuardProcess> {
    const [securePort = 0, healthPort = 0, metricsPort = 0] = await freePorts(3);
    const guard = new GuardProcess(options, { securePort, healthPort, metricsPort });
    await guard.#awaitReady();
    return guard;
  }

  /** Address of the webhook. */
  get url() {
    return `https://127.0.0.1:${this.ports.securePort}/validate`;
  }

  get healthUrl() {
    return `http://127.0.0.1:${this.ports.healthPort}`;
  }

  get metricsUrl() {
    return `https://127.0.0.1:${this.ports.metricsPort}`;
  }

  get ca() {
    return this.#options.ca;
  }

  get certDir() {
    return this.#options.certDir;
  }

  get log() {
    return this.#options.log;
  }

  get isRunning() {
    return this.#child.isRunning;
  }

  /** The number of the current or last process. */
  get pid(): number {
    return this.#child.pid;
  }

  /** Sends a signal without waiting for its effect. */
  signal(signal: NodeJS.Signals) {
    this.#child.kill(signal);
  }

  async kill() {
    await this.#child.stop('SIGKILL');
  }

  /** Kills the process and starts another one at the same ports, until it is ready. */
  async restart(launch?: Launch) {
    await this.kill();
    this.#child = this.#startChild(launch);
    await this.#awaitReady();
  }

  async stop() {
    await this.#child.stop();
  }

  async #awaitReady() {
    await this.#child.waitUntil(() => isHealthy(`${this.healthUrl}/readyz`));
  }

  #startChild({ script, env }: Launch = {}) {
    const { args, kubeconfig, log, reaper } = this.#options;
    const { securePort, healthPort, metricsPort } = this.ports;
    const serve = [
      PROGRAM,
      ...args,
      // The last flag counts. The replicas share the addresses of this machine.
      `--secure-port=${securePort}`,
      `--health-port=${healthPort}`,
      `--metrics-port=${metricsPort}`,
      `--kubeconfig=${kubeconfig}`,
      '--shutdown-delay-duration=0s',
    ];
    return new Child({
      command: script === undefined ? process.execPath : '/bin/sh',
      args: script === undefined ? serve : ['-c', script, 'sh', process.execPath, ...serve],
      logFile: log,
      reaper,
      env: { PATH: process.env['PATH'], ...imageEnvironment(), ...env },
    });
  }
}

/** The lines of a log file that are complete JSON objects. Lines may lack fields of this type. */
export async function readJsonLines<Line>(file: string): Promise<readonly Line[]> {
  return parseJsonLines(await readFile(file, 'utf8').catch(() => ''));
}

/** The lines of a log that are complete JSON objects. Lines may lack fields of this type. */
export function parseJsonLines<Line>(log: string): Line[] {
  const objects = log.split('\n').filter((line) => line.startsWith('{') && line.endsWith('}'));
  return objects.map((line) => JSON.parse(line) as Line);
}

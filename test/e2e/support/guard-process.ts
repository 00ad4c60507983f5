import { existsSync } from 'node:fs';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { answersOk } from '../control-plane/answers-ok.ts';
import { Child } from '../control-plane/child.ts';
import type { Leash } from '../control-plane/leash.ts';
import { until } from '../control-plane/until.ts';
import { imageEnvironment } from './image-environment.ts';

const PROGRAM = fileURLToPath(new URL('../../../dist/machineconfig-guard.cjs', import.meta.url));
const READY_TIMEOUT_MS = 20_000;

/** The guard's line about one decision, as far as the tests read it. */
export interface DecisionLine {
  readonly uid: string;
  readonly name?: string;
  readonly user?: string;
  readonly verdict: string;
  readonly code: string;
  readonly ms: number;
  /** Where the answer came from: `index`, `live` or `none`. */
  readonly path: string;
}

export interface GuardOptions {
  /** File with the credentials to run with. */
  readonly kubeconfig: string;
  /** Certificates and log go into a new folder below it. */
  readonly directory: string;
  readonly leash: Leash;
  /** Issue the certificate from the authority in a Secret; by default it is made by the `certs` command. */
  readonly tlsSecret?: { readonly name: string; readonly ca: string };
}

/** How it is started, where that differs from how it always is. */
export interface Launch {
  /** A script of the shell that becomes it by `exec "$@"`. */
  readonly through?: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** The bundled guard as a process of its own, serving on 127.0.0.1. */
export class GuardProcess {
  /** Where the API server calls it. */
  readonly url: string;
  /** PEM of the authority that the API server has to trust. */
  readonly ca: string;
  readonly healthUrl: string;
  readonly metricsUrl: string;
  /** Folder with ca.crt and, unless it is issued from a Secret, the tls.crt and tls.key that it serves with. */
  readonly certDir: string;
  /** File with everything that it said. */
  readonly log: string;
  readonly #launch: (ports: Ports, launch: Launch) => Child;
  readonly #ports: Ports;
  #child: Child;

  private constructor(
    launch: (ports: Ports, launch: Launch) => Child,
    child: Child,
    certDir: string,
    log: string,
    ca: string,
    ready: Ports,
  ) {
    this.#launch = launch;
    this.#child = child;
    this.#ports = ready;
    this.certDir = certDir;
    this.log = log;
    this.ca = ca;
    this.url = `https://127.0.0.1:${ready.securePort}/validate`;
    this.healthUrl = `http://127.0.0.1:${ready.healthPort}`;
    this.metricsUrl = `https://127.0.0.1:${ready.metricsPort}`;
  }

  static async start({ kubeconfig, directory, leash, tlsSecret }: GuardOptions): Promise<GuardProcess> {
    if (!existsSync(PROGRAM)) throw new Error(`There is no ${PROGRAM}: run "npm run build" first.`);
    const own = await mkdtemp(join(directory, 'guard-'));
    const certificates = ['--out', own, '--ip', '127.0.0.1'];
    await promisify(execFile)(process.execPath, [
      PROGRAM,
      'certs',
      ...certificates,
      '--dns',
      'machineconfig-guard.machineconfig-guard.svc',
    ]);
    // Not beside the certificate, whose folder the guard watches: each line would make it look there.
    const log = `${own}.log`;
    const launched = (ports: Ports, { through, env = {} }: Launch = {}) => {
      const certificate = tlsSecret === undefined ? certificateIn(own) : [`--tls-secret=${tlsSecret.name}`];
      const always = ['--shutdown-delay-duration=0s', '--log-level=info'];
      const serve = [...serveArguments({ kubeconfig, certificate, ports }), ...always];
      const node = process.execPath;
      const [command, args] =
        through === undefined ? [node, serve] : ['/bin/sh', ['-c', through, 'sh', node, ...serve]];
      return new Child({ command, args, logFile: log, leash, env: { ...process.env, ...imageEnvironment(), ...env } });
    };
    const child = launched({ securePort: 0, healthPort: 0, metricsPort: 0 });
    const readyLine = async () => (await jsonLines(log)).find((line) => line['msg'] === 'ready');
    await child.until(async () => (await readyLine()) !== undefined, READY_TIMEOUT_MS);
    const ca = tlsSecret?.ca ?? (await readFile(join(own, 'ca.crt'), 'utf8'));
    return new GuardProcess(launched, child, own, log, ca, (await readyLine()) as unknown as Ports);
  }

  get running(): boolean {
    return this.#child.running;
  }

  /** Of the process that runs now, or that ran last. */
  get pid(): number {
    return this.#child.pid;
  }

  /** Sends a signal and waits for nothing. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** At once, in the middle of whatever it does. */
  async kill(): Promise<void> {
    await this.#child.stop('SIGKILL');
  }

  /** A new process with the same certificate on the same ports; returns once it is ready. The one before it is killed if it runs. */
  async restart(launch: Launch = {}): Promise<void> {
    await this.kill();
    this.#child = this.#launch(this.#ports, launch);
    // It may have nowhere to write a line that says so.
    await this.#child.until(() => answersOk(`${this.healthUrl}/readyz`), READY_TIMEOUT_MS);
  }

  /** The exit code. */
  stop(): Promise<number | null> {
    return this.#child.stop('SIGTERM');
  }
}

/** What the guard logged about the deletion of this config, oldest first. */
export async function decisionsAbout(log: string, config: string): Promise<readonly DecisionLine[]> {
  const lines = (await jsonLines(log)) as readonly Partial<DecisionLine>[];
  return lines.filter((line): line is DecisionLine => line.name === config && line.verdict !== undefined);
}

/** The same, once there are this many: a line may be written after the answer. */
export function awaitDecisions(log: string, config: string, count = 1): Promise<readonly DecisionLine[]> {
  return until(
    `${count} decisions about ${config} in the guard's log`,
    async () => {
      const lines = await decisionsAbout(log, config);
      return lines.length >= count && lines;
    },
    { timeoutMs: 5_000 },
  );
}

/** Where the guard listens; 0 is any that is free. */
export interface Ports {
  readonly securePort: number;
  readonly healthPort: number;
  readonly metricsPort: number;
}

/** What node is called with, so that it is the bundled guard on 127.0.0.1; `certificate` are its flags about that. */
export function serveArguments(serve: {
  readonly kubeconfig: string;
  readonly certificate: readonly string[];
  readonly ports: Ports;
}): readonly string[] {
  const { securePort, healthPort, metricsPort } = serve.ports;
  return [
    PROGRAM,
    'serve',
    `--kubeconfig=${serve.kubeconfig}`,
    ...serve.certificate,
    '--bind-address=127.0.0.1',
    `--secure-port=${securePort}`,
    `--health-port=${healthPort}`,
    `--metrics-port=${metricsPort}`,
  ];
}

/** The guard's flags for the pair in this folder. */
export function certificateIn(directory: string): readonly string[] {
  return [`--tls-cert-file=${join(directory, 'tls.crt')}`, `--tls-private-key-file=${join(directory, 'tls.key')}`];
}

async function jsonLines(file: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const lines = (await readFile(file, 'utf8')).split('\n');
  return lines
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

import { readFile, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';

import { Child } from '../control-plane/child.ts';
import type { ProcessReaper } from '../control-plane/process-reaper.ts';
import { isHealthy } from '../control-plane/until.ts';
import { SERVICE_NAME } from './guard-service.ts';
import { imageEnvironment } from './image-environment.ts';
import { PROGRAM, runProgram } from './program.ts';

const READY_TIMEOUT_MS = 20_000;

/** Fields of a log line about a decision. */
export interface DecisionLine {
  readonly name: string;
  readonly verdict: string;
  /** The source of the answer: `index`, `live` or `none`. */
  readonly path: string;
}

/** Differences from the usual start of the guard. */
export interface Launch {
  /** A shell script that becomes the guard by `exec "$@"`. */
  readonly script?: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** Ports of the guard; 0 is any free port. */
export interface Ports {
  readonly securePort: number;
  readonly healthPort: number;
  readonly metricsPort: number;
}

export type GuardProcess = Awaited<ReturnType<typeof startGuardProcess>>;

/**
 * Starts the bundled guard on 127.0.0.1, and returns when it is ready.
 *
 * @param kubeconfig file with the guard's credentials
 * @param directory the certificates go into a new folder of this one
 */
export async function startGuardProcess(kubeconfig: string, directory: string, reaper: ProcessReaper) {
  const certDir = await mkdtemp(join(directory, 'guard-'));
  // Not inside certDir: the guard watches that folder, and each line would wake it.
  const log = `${certDir}.log`;
  await runProgram('certs', '--out', certDir, '--ip', '127.0.0.1', '--dns', SERVICE_NAME);

  function startChild(ports: Ports, { script, env = {} }: Launch = {}) {
    const flags = ['--shutdown-delay-duration=0s', '--log-level=info'];
    const serve = [...serveArguments({ kubeconfig, certificate: certificateIn(certDir), ports }), ...flags];
    return new Child({
      command: script === undefined ? process.execPath : '/bin/sh',
      args: script === undefined ? serve : ['-c', script, 'sh', process.execPath, ...serve],
      logFile: log,
      reaper,
      env: { ...process.env, ...imageEnvironment(), ...env },
    });
  }

  let child = startChild({ securePort: 0, healthPort: 0, metricsPort: 0 });
  await child.waitUntil(async () => (await findPorts(log, 'ready')) !== undefined, READY_TIMEOUT_MS);
  const ports = (await findPorts(log, 'ready')) as Ports;
  const healthUrl = `http://127.0.0.1:${ports.healthPort}`;

  return {
    /** Address of the webhook. */
    url: `https://127.0.0.1:${ports.securePort}/validate`,
    healthUrl,
    metricsUrl: `https://127.0.0.1:${ports.metricsPort}`,
    /** PEM of the authority that issued the certificate. */
    ca: await readFile(join(certDir, 'ca.crt'), 'utf8'),
    /** Folder with ca.crt, tls.crt and tls.key. */
    certDir,
    /** File with the output of the process. */
    log,
    kill: () => child.stop('SIGKILL'),

    get isRunning() {
      return child.isRunning;
    },

    /** The number of the current or last process. */
    get pid(): number {
      return child.pid;
    },

    /** Sends a signal without waiting for its effect. */
    signal(signal: NodeJS.Signals) {
      child.kill(signal);
    },

    /** Kills the process and starts another one with the same certificate and ports, until it is ready. */
    async restart(launch?: Launch) {
      await child.stop('SIGKILL');
      child = startChild(ports, launch);
      // The log cannot tell: a launch may redirect it.
      await child.waitUntil(() => isHealthy(`${healthUrl}/readyz`), READY_TIMEOUT_MS);
    },

    /** Returns the exit code. */
    stop: () => child.stop('SIGTERM'),
  };
}

/** The guard's log lines about a config in a file, oldest first. */
export async function decisionsAbout(file: string, config: string) {
  return decisionsIn(await readFile(file, 'utf8'), config);
}

/** The guard's log lines about a config, oldest first. */
export function decisionsIn(log: string, config: string) {
  const lines = parseJsonLines<DecisionLine>(log);
  return lines.filter(({ name, verdict }) => name === config && verdict !== undefined);
}

/** The ports in the line of a log with this message. */
export async function findPorts(log: string, message: string): Promise<Ports | undefined> {
  return (await readJsonLines<Ports & { msg: string }>(log)).find(({ msg }) => msg === message);
}

/** The arguments for node to serve on 127.0.0.1. `certificate`: the flags about the certificate. */
export function serveArguments({
  kubeconfig,
  certificate,
  ports,
}: {
  readonly kubeconfig: string;
  readonly certificate: readonly string[];
  readonly ports: Ports;
}) {
  return [
    PROGRAM,
    'serve',
    `--kubeconfig=${kubeconfig}`,
    ...certificate,
    '--bind-address=127.0.0.1',
    `--secure-port=${ports.securePort}`,
    `--health-port=${ports.healthPort}`,
    `--metrics-port=${ports.metricsPort}`,
  ];
}

/** The flags for tls.crt and tls.key in a folder. */
export function certificateIn(directory: string) {
  return [`--tls-cert-file=${join(directory, 'tls.crt')}`, `--tls-private-key-file=${join(directory, 'tls.key')}`];
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

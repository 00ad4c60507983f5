import { readFile } from 'node:fs/promises';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';

import { memoryOf } from '../../bench/memory.ts';
import { runBinaries } from '../support/run-binaries.ts';
import { Cluster, unique } from '../support/cluster.ts';
import { GuardedCluster } from '../support/guarded-cluster.ts';
import { machineConfig } from '../support/objects.ts';
import { answersIn, type Answer } from './answers.ts';

const MCO = 'machineconfiguration.openshift.io';
/** Sent along as a credential: must never be seen again. */
const SECRET = 'sha256~this-is-a-token-of-somebody';
/** A second control plane beside the shared one, on a machine that others keep busy. */
export const START_MS = 240_000;
/** An attacker has no longer to wait for an answer: the guard gives a body five seconds and headers ten. */
const ANSWER_MS = 20_000;

/** A guarded cluster whose guard is called by somebody else beside the API server. */
export class AttackedGuard {
  readonly cluster: Cluster;
  /** Name of a config that a node runs. Whatever is sent about it, it must not be let go. */
  readonly used: string;
  readonly #guarded: GuardedCluster;
  readonly #pid: number;
  readonly #sockets = new Set<TLSSocket>();

  private constructor(guarded: GuardedCluster, cluster: Cluster, used: string) {
    this.#guarded = guarded;
    this.cluster = cluster;
    this.used = used;
    this.#pid = guarded.guard.pid;
  }

  static async start(): Promise<AttackedGuard> {
    const guarded = await GuardedCluster.start(await runBinaries());
    const cluster = new Cluster(guarded.connection);
    const used = await cluster.config();
    await cluster.node({ name: unique('attacked'), currentConfig: used });
    return new AttackedGuard(guarded, cluster, used);
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await this.#guarded.stop();
  }

  get port(): number {
    return Number(new URL(this.#guarded.guard.url).port);
  }

  /** A review that asks for the deletion of the used config, as the API server would send it. Parts of the request can be exchanged. */
  review(change: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, unknown>> {
    const resource = { group: MCO, version: 'v1', resource: 'machineconfigs' };
    return {
      kind: 'AdmissionReview',
      apiVersion: 'admission.k8s.io/v1',
      request: {
        uid: '0df28fbd-5f5f-11e8-bc74-36e6bb280816',
        kind: { group: MCO, version: 'v1', kind: 'MachineConfig' },
        resource,
        name: this.used,
        operation: 'DELETE',
        userInfo: { username: 'mallory' },
        object: null,
        oldObject: machineConfig({ name: this.used }),
        dryRun: true,
        ...change,
      },
    };
  }

  /** The same as a whole HTTP request. */
  request(body: string | Buffer = JSON.stringify(this.review()), { head, target }: RequestHead = {}): Buffer {
    const bytes = Buffer.from(body);
    const lines = [
      `POST ${target ?? '/validate?timeout=5s'} HTTP/1.1`,
      'Host: guard',
      `Authorization: Bearer ${SECRET}`,
      ...(head ?? ['Content-Type: application/json', `Content-Length: ${bytes.length}`]),
    ];
    return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), bytes]);
  }

  /** A connection on which the handshake is done. */
  async connect(options: ConnectionOptions = {}): Promise<TLSSocket> {
    const { ca } = this.#guarded.guard;
    const socket = connect({ host: '127.0.0.1', port: this.port, ca, ...options });
    this.#sockets.add(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject).once('secureConnect', resolve);
    });
    // From here on it may be closed at any moment, in any way.
    socket.on('error', () => undefined);
    return socket;
  }

  /** Sends these bytes, waits until so many answers have come or the guard has closed the connection, and answers them. */
  async answers(bytes: Buffer, count = 1): Promise<readonly Answer[]> {
    const socket = await this.connect();
    const chunks: Buffer[] = [];
    const answers = (): readonly Answer[] => answersIn(Buffer.concat(chunks));
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`No answer to ${bytes.toString('latin1', 0, 80)}`)), ANSWER_MS);
      const done = (): void => {
        clearTimeout(timer);
        resolve();
      };
      socket.once('close', done);
      socket.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        if (answers().length >= count) done();
      });
      socket.write(bytes);
    });
    socket.destroy();
    this.#sockets.delete(socket);
    return answers();
  }

  /** What has become of it: the same process, ready, and nothing in its log that does not belong there. */
  async state(): Promise<GuardState> {
    const { guard } = this.#guarded;
    const log = await readFile(guard.log, 'utf8');
    const token = (JSON.parse(await readFile(this.#guarded.kubeconfig, 'utf8')) as Kubeconfig).users[0]?.user.token;
    return {
      running: guard.running && guard.pid === this.#pid,
      ready: (await fetch(`${guard.healthUrl}/readyz`)).status,
      stackTraces: log.split('\n').filter((line) => /"stack"|^\s+at .+:\d+/.test(line)),
      secrets: [SECRET, token ?? SECRET].filter((secret) => log.includes(secret)),
    };
  }

  /** The most memory that it has had, in MB. */
  async peakMemory(): Promise<number> {
    return (await memoryOf(this.#pid)).peak;
  }
}

/** Nothing has happened to it. */
export const UNHARMED: GuardState = { running: true, ready: 200, stackTraces: [], secrets: [] };
/** In MB. With 5,000 nodes it takes 120; what strangers send may add to it, but not without end. */
export const MEMORY_MAX = 400;

interface GuardState {
  readonly running: boolean;
  readonly ready: number;
  readonly stackTraces: readonly string[];
  readonly secrets: readonly string[];
}

interface RequestHead {
  /** Its lines, in the place of the content's type and length. */
  readonly head?: readonly string[];
  readonly target?: string;
}

interface Kubeconfig {
  readonly users: readonly { readonly user: { readonly token: string } }[];
}

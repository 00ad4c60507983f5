import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { type Authority, createAuthority } from '../../src/certificates/authority.ts';
import { NEVER_ABORTED, sleep } from '../../src/common/wait.ts';
import { encodeBase64 } from '../../src/install/manifest.ts';
import type { GuardStatus } from '../../src/status/guard-status.ts';
import type { LastDenial } from '../../src/status/status-writer.ts';
import { parseResourcePath } from '../support/in-memory-cluster/kinds.ts';
import { type Fault, Faults } from '../support/faults.ts';
import { sendAnswer } from '../support/in-memory-cluster/api-server.ts';
import { InMemoryCluster, type KubeObject } from '../support/in-memory-cluster/in-memory-cluster.ts';
import { buildNode, buildPool } from '../support/operator-objects.ts';
import { createRandom } from '../support/random.ts';
import { START, VirtualClock } from './clock.ts';
import { VirtualNetwork } from './network.ts';
import { type ReplicaOptions, SECRET, startReplica, type VirtualReplica } from './replica.ts';

/** What a replica has written. */
export interface Write {
  /** The name of the replica. */
  readonly by: string;
  readonly method: string;
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly atSeconds: number;
}

/** The longest of the API server. */
const LATENCY_MS = 4;
const BOOKMARK_MS = 60_000;
const DAY_MS = 86_400_000;

/** The configs of the pool `worker`. At the start, A is in use, and the others are not. */
export const CONFIGS = ['a', 'b', 'c', 'd'].map((digit) => `rendered-worker-${digit.repeat(32)}`);
export const [USED = '', UNUSED = '', OTHER = ''] = CONFIGS;
/** It last changed long ago. */
const POOL = { spec: USED, status: USED, specWrittenMinutesAgo: 30_000, statusWrittenMinutesAgo: 30_000 };
export const NODES = ['worker-0', 'worker-1', 'worker-2'];

export type GuardObject = KubeObject & {
  readonly spec?: object;
  readonly status?: Partial<GuardStatus> & {
    readonly lastDenial?: LastDenial;
    readonly deletions?: Readonly<Record<string, { readonly user: string }>>;
  };
};

interface StartOptions extends ReplicaOptions {
  readonly seed?: number;
  readonly replicas?: number;
}

let authorities: Promise<readonly Authority[]> | undefined;

/** Two that are valid for ten years from the start of each test. */
async function createAuthorities(): Promise<readonly Authority[]> {
  const options = { days: 3_650, now: new Date(START) };
  return [await createAuthority(options), await createAuthority(options)];
}

/**
 * A cluster in memory, its API server, replicas of the guard and the network between them, in virtual time. The guard
 * is all of `runGuard` with the constants of production, and the real HTTP and TLS of Node.
 */
export class VirtualWorld {
  readonly clock: VirtualClock;
  readonly network: VirtualNetwork;
  readonly random: () => number;
  readonly cluster = new InMemoryCluster();
  readonly faults = new Faults();
  readonly writes: Write[] = [];
  readonly authorities: readonly Authority[];
  readonly replicas: VirtualReplica[] = [];
  /** Of the clock of the API server, compared with that of the guard. */
  apiClockOffsetMs = 0;
  readonly #api = createServer({ keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 }, (request, response) => {
    void this.#answer(request, response);
  });

  private constructor(seed: number, authorities: readonly Authority[]) {
    this.authorities = authorities;
    this.clock = new VirtualClock(seed);
    this.network = new VirtualNetwork(this.clock);
    this.random = createRandom(seed + 1);
    this.#fill();
    setInterval(() => this.#sendBookmarks(), BOOKMARK_MS);
    this.faults.intercept(({ path }) => {
      if (!path.endsWith('reviews')) return 'pass';
      return { status: 201, body: { status: { authenticated: true, user: { username: 'x' }, allowed: true } } };
    });
  }

  /** Starts a cluster with this many ready replicas until the end of the test. */
  static async start({ seed = 1, replicas = 1, ...options }: StartOptions = {}): Promise<VirtualWorld> {
    const world = new VirtualWorld(seed, await (authorities ??= createAuthorities()));
    onTestFinished(async () => {
      for (const replica of world.replicas) await replica.end();
    });
    for (let count = 0; count < replicas; count += 1) await world.addReplica(options);
    return world;
  }

  async addReplica(options: ReplicaOptions = {}): Promise<VirtualReplica> {
    const name = `replica-${this.replicas.length}`;
    this.network.serve(name, this.#api);
    const replica = await startReplica(this, name, options);
    this.replicas.push(replica);
    return replica;
  }

  get guard(): GuardObject | undefined {
    return this.cluster.get('machineconfigguards', 'cluster');
  }

  /** `STATUS REASON: MESSAGE` of a condition of the MachineConfigGuard. */
  findCondition(type: string): string {
    const { status, reason, message } = this.guard?.status?.conditions?.find((each) => each.type === type) ?? {};
    return `${status} ${reason}: ${message}`;
  }

  get leaseHolder(): string {
    const lease = this.cluster.get('leases', 'machineconfig-guard', 'machineconfig-guard');
    return (lease?.['spec'] as { readonly holderIdentity?: string } | undefined)?.holderIdentity ?? '';
  }

  listEvents(reason: string): readonly KubeObject[] {
    return this.cluster.list('events').filter((event) => event['reason'] === reason);
  }

  /** The configs that nodes and pools name now. */
  findUsed(): ReadonlySet<unknown> {
    const annotations = this.cluster
      .list('nodes')
      .flatMap(({ metadata }): readonly unknown[] => Object.values(metadata.annotations ?? {}));
    const configurations = this.cluster.list('machineconfigpools').flatMap((pool) =>
      ['spec', 'status'].map((field) => {
        return (pool[field] as { readonly configuration?: { readonly name?: string } } | undefined)?.configuration
          ?.name;
      }),
    );
    return new Set([...annotations, ...configurations].filter((name) => String(name).startsWith('rendered-')));
  }

  setNode(name: string, config: string): void {
    const toAnnotation = (field: string) => [`machineconfiguration.openshift.io/${field}`, config];
    const annotations = Object.fromEntries(['currentConfig', 'desiredConfig'].map(toAnnotation)) as object;
    this.cluster.patch('nodes', name, { metadata: { annotations } });
  }

  /** As the operator, after a roll-out. */
  setPoolStatus(config: string): void {
    const changes = { status: config, statusWrittenMinutesAgo: 0, conditions: [{ type: 'Updated', minutesAgo: 0 }] };
    const { metadata, status } = toNew(buildPool('worker', { ...POOL, ...changes }, this.apiNow));
    this.cluster.patch('machineconfigpools', 'worker', {
      metadata: { managedFields: metadata['managedFields'] },
      status,
    });
  }

  /** By the clock of the API server. */
  get apiNow(): Date {
    return new Date(Date.now() + this.apiClockOffsetMs);
  }

  setGuardSpec(spec: object): void {
    this.cluster.patch('machineconfigguards', 'cluster', { spec });
  }

  /** The API server answers requests of these paths like this, until the returned function is called. */
  answer(paths: RegExp, fault: Fault): () => void {
    return this.faults.intercept(({ path }) => (paths.test(path) ? fault : 'pass'));
  }

  #fill(): void {
    const now = new Date(START);
    const creationTimestamp = new Date(START - 30 * DAY_MS).toISOString();
    for (const name of CONFIGS) this.cluster.create('machineconfigs', { metadata: { name, creationTimestamp } });
    for (const name of NODES)
      this.cluster.create('nodes', toNew(buildNode(name, { current: USED, desired: USED }, now)));
    this.cluster.create('machineconfigpools', toNew(buildPool('worker', POOL, now)));
    this.cluster.create('apiservers', { metadata: { name: 'cluster' } });
    this.setAuthority();
  }

  /** Puts an authority into the Secret, by default the first one. */
  setAuthority(authority = this.authorities[0]): void {
    const { certificatePem = '', privateKeyPem = '' } = authority ?? {};
    const data = { 'ca.crt': encodeBase64(certificatePem), 'ca.key': encodeBase64(privateKeyPem) };
    if (this.cluster.get('secrets', SECRET.name, SECRET.namespace) === undefined)
      this.cluster.create('secrets', { metadata: SECRET });
    this.cluster.patch('secrets', SECRET.name, { data }, SECRET.namespace);
  }

  #sendBookmarks(): void {
    const metadata = { resourceVersion: String(this.cluster.version) };
    for (const watch of this.faults.watches)
      watch.write(`${JSON.stringify({ type: 'BOOKMARK', object: { metadata } })}\n`);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.setHeader('date', this.apiNow.toUTCString());
    const { method = '', url: path = '/', headers } = request;
    const sent = await text(request).catch(() => undefined);
    if (sent === undefined) return;
    // Otherwise tasks that start at the same time would run in step for ever.
    await sleep(LATENCY_MS * Math.random(), NEVER_ABORTED);
    const body = sent === '' ? undefined : (JSON.parse(sent) as Write['body']);
    if (body !== undefined && parseResourcePath(path) !== undefined) {
      const by = headers.authorization?.replace('Bearer ', '').replace(/\.\d+$/, '') ?? '';
      this.writes.push({ by, method, path, body, atSeconds: this.clock.seconds });
    }
    if (this.faults.apply(request, response)) return;
    const { accept, 'content-type': contentType } = headers;
    await sendAnswer(this.cluster, { method, path, accept, contentType, body }, response);
    if (response.writableEnded) return;
    const seconds = Number(new URL(path, 'https://api').searchParams.get('timeoutSeconds'));
    const timer = setTimeout(() => response.end(), seconds * 1_000);
    response.once('close', () => clearTimeout(timer));
  }
}

/** A cluster with a replica that holds nothing. */
export async function startWorld(options: StartOptions = {}) {
  const world = await VirtualWorld.start(options);
  const [replica, second] = world.replicas;
  if (replica === undefined) throw new Error('no replica');
  world.setGuardSpec({ holdSuperseded: '0s' });
  await world.clock.pass(2_500);
  return { world, clock: world.clock, replica, second: second ?? replica };
}

export function toNew(object: object): Parameters<InMemoryCluster['create']>[1] {
  return object as Parameters<InMemoryCluster['create']>[1];
}

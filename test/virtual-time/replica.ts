import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { Agent as HttpAgent, type IncomingMessage, request as httpRequest, type Server as HttpServer } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import { Server as TcpServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect, type ConnectionOptions } from 'node:tls';
import { KubeConfig } from '@kubernetes/client-node';
import { expect, vi } from 'vitest';
import { followAuthoritySecret } from '../../src/certificates/authority-secret.ts';
import { AUTHORITY_SECRET_PATH } from '../../src/api/paths.ts';
import { type Authority, issueLeaf } from '../../src/certificates/authority.ts';
import { type Expiry, type KeyPair, readValidity, ServingCertificate } from '../../src/certificates/key-pair.ts';
import { KubeConnection } from '../../src/client/kube-connection.ts';
import { runGuard, type RunGuardOptions } from '../../src/guard/guard.ts';
import { KubeApi } from '../../src/kube/api.ts';
import type { AdmissionReviewResponse } from '../../src/review/admission-response.ts';
import type { InMemoryCluster } from '../support/in-memory-cluster/in-memory-cluster.ts';
import { memoryLog } from '../support/log.ts';
import { reviewBody } from '../support/review.ts';
import type { VirtualClock } from './clock.ts';
import type { VirtualNetwork } from './network.ts';

const [, SECRET_NAMESPACE = '', SECRET_NAME = ''] = /namespaces\/(.*)\/secrets\/(.*)/.exec(AUTHORITY_SECRET_PATH) ?? [];
/** The Secret with the authority. */
export const SECRET = { name: SECRET_NAME, namespace: SECRET_NAMESPACE };
const SERVICE = 'machineconfig-guard.machineconfig-guard.svc';
/** That of the webhook configuration. */
const REVIEW_TIMEOUT_MS = 5_000;

/** What is around a replica. */
interface Surroundings {
  readonly clock: VirtualClock;
  readonly network: VirtualNetwork;
  readonly cluster: InMemoryCluster;
  readonly authorities: readonly Authority[];
  /** By the clock of the API server. */
  readonly apiNow: Date;
  readonly findUsed: () => ReadonlySet<unknown>;
}

export interface ReviewOptions {
  readonly user?: string;
  readonly dryRun?: boolean;
  /** By default that of the cluster. */
  readonly uid?: string;
  readonly timeout?: string;
}

/** What the API server got. */
export interface Answer {
  readonly uid: string;
  readonly config: string;
  readonly user: string;
  readonly isDryRun: boolean;
  /** Whether no config of this name and uid exists. */
  readonly isForged: boolean;
  /** Whether the config was in use when it was asked and answered. */
  readonly isUsed: boolean;
  readonly allowed: boolean;
  /** `TIMEOUT` if there was no answer, or no connection. */
  readonly code: string;
  readonly message: string;
  readonly auditAnnotations?: Readonly<Record<string, string>>;
  readonly connection: string | undefined;
  readonly atSeconds: number;
  readonly seconds: number;
}

export type VirtualReplica = Awaited<ReturnType<typeof startReplica>>;
type Port = 'securePort' | 'metricsPort' | 'healthPort';

export interface ReplicaOptions {
  /** By default, the test waits until the replica is ready. */
  readonly isReady?: boolean;
  readonly shutdownDelayMs?: number;
  /** Of the MachineConfigGuard that it creates. */
  readonly initialSpec?: RunGuardOptions['initialSpec'];
  /** How long the certificate is valid, if the replica does not follow the Secret. */
  readonly certificateDays?: number;
  /** Follows the authority in the Secret, as `serve --tls-secret`. Otherwise the certificate never changes. */
  readonly followsSecret?: boolean;
}

/** Reading them each second would take half of the time of a test. */
class FixedCertificate extends ServingCertificate {
  readonly #expiries = super.expiries();

  override expiries(): readonly Expiry[] {
    return this.#expiries;
  }
}

const leaves = new Map<number, Promise<KeyPair>>();

/** Starts a replica as `serve` does, and waits until it is ready. */
export async function startReplica(
  world: Surroundings,
  name: string,
  { isReady = true, shutdownDelayMs = 5_000, initialSpec = {}, ...options }: ReplicaOptions,
) {
  const { clock, network, cluster, authorities } = world;
  const { followsSecret = false, certificateDays = 365 } = options;
  const { log, lines, messages } = memoryLog();
  let tokens = 0;
  const api = new KubeApi(
    new KubeConnection(() => {
      tokens += 1;
      const config = new KubeConfig();
      // Its requests reach the API server on a host of its own, so that each replica has its own faults.
      const server = { name, server: `https://${name}`, skipTLSVerify: false };
      config.loadFromClusterAndUser(server, { name, token: `${name}.${tokens}` });
      return config;
    }),
  );
  const listen = vi.spyOn(TcpServer.prototype, 'listen');
  const stopping = new AbortController();
  let isEnded = false;
  const running = runGuard(
    {
      api,
      log,
      bindAddress: '127.0.0.1',
      securePort: 0,
      healthPort: 0,
      metricsPort: 0,
      shutdownDelayMs,
      loadCertificate: async (signal) =>
        followsSecret
          ? await followAuthoritySecret({ api, ...SECRET, log, signal })
          : new FixedCertificate(await issueFixedLeaf(authorities, certificateDays)),
      initialSpec,
      leaseNamespace: undefined,
    },
    once(stopping.signal, 'abort'),
  ).finally(() => (isEnded = true));
  const isListening = () => messages().includes('listening');
  if (followsSecret) await clock.pass(100);
  // It reads a file before, which needs real time.
  while (!isListening()) await clock.settle();
  const servers = listen.mock.contexts as HttpServer[];
  listen.mockRestore();
  const hosts = (['securePort', 'metricsPort', 'healthPort'] as const).map(
    (port) => [port, `${name}/${port}`] as const,
  );
  for (const [index, [, host]] of hosts.entries()) {
    network.serve(host, servers[index] as HttpServer);
  }
  if (isReady) await clock.within(10_000, `${name} is ready`, () => messages().includes('ready'));

  const connectTo = (port: Port) => network.connect(`${name}/${port}`);
  /** Connects as a client that knows the authority and the name of the Service. */
  const connectTls = (port: Port, options: ConnectionOptions = {}) => {
    const socket = connect({ socket: connectTo(port), servername: SERVICE, rejectUnauthorized: false, ...options });
    const certificate = once(socket, 'secureConnect').then(() => {
      // Node returns it only once.
      const certificate = socket.getPeerX509Certificate();
      const problem = findCertificateProblem(certificate, authorities, world.apiNow);
      if (problem !== undefined) socket.destroy(new Error(problem));
      return certificate;
    });
    certificate.catch(() => {});
    return { socket, certificate };
  };
  /** As the API server and Prometheus, it keeps its connections for up to 90 s. */
  const createAgent = (port: Port) => {
    const agent = new Agent({ keepAlive: true, timeout: 90_000 });
    agent.createConnection = () => connectTls(port).socket;
    return agent;
  };
  const agents = { securePort: createAgent('securePort'), metricsPort: createAgent('metricsPort') };
  const call = async (port: keyof typeof agents, path: string, body?: object) => {
    const headers = { authorization: 'Bearer t', 'content-type': 'application/json' };
    const sent = httpsRequest({
      host: SERVICE,
      method: body === undefined ? 'GET' : 'POST',
      path,
      headers,
      agent: agents[port],
    });
    sent.end(body && JSON.stringify(body));
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    return { headers: answer.headers, body: await text(answer) };
  };

  const answers: Answer[] = [];
  const review = async (config: string, options: ReviewOptions = {}): Promise<Answer> => {
    const { user = 'system:admin', dryRun = false, timeout = '5s' } = options;
    const startedAt = clock.seconds;
    const stored = cluster.get('machineconfigs', config)?.metadata;
    const metadata = { ...stored, name: config, uid: options.uid ?? stored?.uid ?? 'unknown' };
    const uid = `review-${name}-${answers.length}-${Math.round(startedAt * 1_000)}`;
    const body = reviewBody({ uid, name: config, dryRun, userInfo: { username: user }, oldObject: { metadata } });
    const asked = { uid, config, user, isDryRun: dryRun, isForged: metadata.uid !== stored?.uid };
    const wasUsed = world.findUsed().has(config);
    const received = await call('securePort', `/validate?timeout=${timeout}`, body).catch((error: unknown) =>
      String(error),
    );
    const isUsed = wasUsed && world.findUsed().has(config);
    const taken = { isUsed, atSeconds: startedAt, seconds: clock.seconds - startedAt };
    if (typeof received === 'string')
      return { ...asked, ...taken, allowed: false, code: 'TIMEOUT', message: received, connection: undefined };
    const { response } = JSON.parse(received.body) as AdmissionReviewResponse;
    const { allowed, auditAnnotations = {} } = response;
    const audited = JSON.parse(Object.values(auditAnnotations)[0] ?? '{}') as { readonly code?: string };
    const message = response.status?.message ?? '';
    const code = audited.code ?? /^MCG_\w+/.exec(message)?.[0] ?? '';
    const { connection } = received.headers;
    const answer = { ...asked, ...taken, allowed, code, message, auditAnnotations, connection };
    answers.push(answer);
    return answer;
  };

  const readMetrics = async (): Promise<string> => {
    const { headers, body } = await clock.await(10_000, `${name} answers a scrape`, call('metricsPort', '/metrics'));
    expect(headers['content-type']).toMatch(/^application\/openmetrics-text; version=1\.0\.0/);
    expect(body).toMatch(/# EOF\n$/);
    return body;
  };

  const probe = async (path: string): Promise<string> => {
    const agent = new HttpAgent();
    agent.createConnection = () => connectTo('healthPort');
    const sent = httpRequest({ host: name, path, agent }).end();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    return `${answer.statusCode} ${(await text(answer)).trim()}`;
  };

  return {
    name,
    log,
    lines,
    messages,
    answers,
    /** A raw connection. */
    connectTo,
    connectTls,
    /** Returns the certificate of a new connection. @throws Error if the handshake fails */
    shakeHands: async (port: Port, options?: ConnectionOptions): Promise<X509Certificate> => {
      const { socket, certificate } = connectTls(port, options);
      const received = await clock.await(1_000, `a handshake with ${name}`, certificate);
      if (received === undefined || socket.destroyed) throw new Error('the certificate cannot be used');
      socket.destroy();
      return received;
    },
    sendReview: review,
    /** Asks whether a config may be deleted. The API server waits for 5 s. */
    review: async (config: string, options?: ReviewOptions) =>
      await clock.await(REVIEW_TIMEOUT_MS, `${name} answers a review of ${config}`, review(config, options)),
    /** Several at the same time. */
    reviewAll: async (configs: readonly string[], options?: ReviewOptions) => {
      const reviews = Promise.all(configs.map(async (config) => await review(config, options)));
      return await clock.await(REVIEW_TIMEOUT_MS, `${name} answers ${configs.length} reviews`, reviews);
    },
    readMetrics,
    /** The value of each series. */
    scrape: async (): Promise<ReadonlyMap<string, number>> => {
      const series = (await readMetrics()).split('\n').filter((line) => !line.startsWith('#') && line !== '');
      return new Map(series.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]));
    },
    probe: async (path = '/readyz') => await clock.await(1_000, `${name} answers ${path}`, probe(path)),
    isEnded: () => isEnded,
    /** As SIGTERM. */
    stop: () => stopping.abort(),
    end: async () => {
      stopping.abort();
      for (const agent of Object.values(agents)) agent.destroy();
      await clock.await(30_000, `${name} ends`, running);
      api.close();
    },
  };
}

async function issueFixedLeaf([authority]: readonly Authority[], days: number): Promise<KeyPair> {
  if (authority === undefined) throw new Error('no authority');
  const options = { authority, dnsNames: [SERVICE], ipAddresses: [], days, now: new Date() };
  const leaf = leaves.get(days) ?? issueLeaf(options);
  leaves.set(days, leaf);
  return await leaf;
}

/** OpenSSL has the real time, so the test checks the certificate as the API server would, in virtual time. */
function findCertificateProblem(
  certificate: X509Certificate | undefined,
  authorities: readonly Authority[],
  now: Date,
): string | undefined {
  if (certificate === undefined) return 'no certificate';
  const { notBefore, notAfter } = readValidity(certificate);
  if (now < notBefore || now > notAfter) return `certificate has expired or is not yet valid: ${certificate.validTo}`;
  if (certificate.checkHost(SERVICE) === undefined) return 'certificate is valid for another name';
  const isSigned = authorities.some(({ certificatePem }) =>
    certificate.verify(new X509Certificate(certificatePem).publicKey),
  );
  return isSigned ? undefined : 'certificate signed by unknown authority';
}

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:tls';

import { memoryOf } from '../../bench/memory.ts';
import { reviewBody } from '../../support/review.ts';
import { Cluster, unique } from '../support/cluster.ts';
import { PATHS } from '../support/paths.ts';
import type { GuardedCluster } from '../support/guarded-cluster.ts';
import { machineConfig, renderedName } from '../support/objects.ts';

/** A credential that the guard must never log. */
const SECRET = 'sha256~this-is-a-token-of-somebody';
/** The guard waits 5 s for a body and 10 s for headers. */
const ANSWER_TIMEOUT_MS = 20_000;
/** With 5,000 nodes the guard takes 120 MB. Requests may add to it, but not without limit. */
const MAX_MEMORY_MB = 400;

export interface RequestParts {
  /** Replaces the lines about the type and length of the content. */
  readonly head?: readonly string[];
  readonly target?: string;
}

/** Where an attacker connects to. */
export interface Target {
  readonly host: string;
  readonly port: number;
  /** PEM of the authority of the guard's certificate. */
  readonly ca: string;
}

/** A client that is no API server. Its reviews ask for the deletion of a config in use. */
export class Attacker {
  readonly cluster: Cluster;
  /** A config that a node names. */
  readonly usedConfig: string;
  /** The uid of that config. */
  readonly uid: string;
  readonly target: Target;

  private constructor(target: Target, cluster: Cluster, usedConfig: string, uid: string) {
    this.target = target;
    this.cluster = cluster;
    this.usedConfig = usedConfig;
    this.uid = uid;
  }

  static async create({ guard, connection }: GuardedCluster): Promise<Attacker> {
    const target = { host: '127.0.0.1', port: guard.ports.securePort, ca: guard.ca };
    const cluster = new Cluster(connection);
    const config = await cluster.config();
    await cluster.node({ name: unique('attacked'), currentConfig: config });
    const object = await cluster.admin.find(`${PATHS.configs}/${config}`);
    return new Attacker(target, cluster, config, String(object?.metadata.uid));
  }

  /** The review as the API server would send it, except for some fields. */
  review(changes: Readonly<Record<string, unknown>> = {}): string {
    const name = this.usedConfig;
    const { metadata, ...object } = machineConfig({ name });
    const oldObject = { ...object, metadata: { ...metadata, uid: this.uid } };
    return JSON.stringify(reviewBody({ name, oldObject, dryRun: true, ...changes }));
  }

  /** A review of a config that does not exist, or of a used config with another uid. */
  forgedReview({ name = renderedName('forged'), annotations = {}, user = 'kube:admin', dryRun = false } = {}) {
    const metadata = { name, uid: randomUUID(), annotations };
    return this.review({ name, oldObject: { metadata, spec: {} }, userInfo: { username: user }, dryRun });
  }

  /** A whole HTTP request. */
  request(body: string | Buffer = this.review(), { head, target = '/validate?timeout=5s' }: RequestParts = {}): Buffer {
    const bytes = Buffer.from(body);
    const lines = [
      `POST ${target} HTTP/1.1`,
      'Host: guard',
      `Authorization: Bearer ${SECRET}`,
      ...(head ?? ['Content-Type: application/json', `Content-Length: ${bytes.length}`]),
    ];
    return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), bytes]);
  }

  /** Sends bytes and returns the meanings of the answers until `count` or the end of the connection. */
  async send(bytes: Buffer, count = 1): Promise<readonly string[]> {
    const socket = connect({ ...this.target });
    await once(socket, 'secureConnect');
    socket.on('error', () => undefined);
    const chunks: Buffer[] = [];
    await new Promise<void>((resolve, reject) => {
      const fail = () => reject(new Error(`No answer to ${bytes.toString('latin1', 0, 80)}`));
      const timer = setTimeout(fail, ANSWER_TIMEOUT_MS);
      const finish = () => {
        clearTimeout(timer);
        resolve();
      };
      socket.once('close', finish).on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        if (parseAnswers(Buffer.concat(chunks)).length >= count) finish();
      });
      socket.write(bytes);
    });
    socket.destroy();
    return parseAnswers(Buffer.concat(chunks));
  }
}

/** What attacks have done to a guard; empty if nothing. */
export async function findDamage({ guard }: GuardedCluster): Promise<readonly string[]> {
  const log = await readFile(guard.log, 'utf8');
  const { peak } = await memoryOf(guard.pid);
  const checks: readonly (readonly [isDamaged: boolean, text: string])[] = [
    [!guard.isRunning, 'the process ended'],
    [!(await fetch(`${guard.healthUrl}/readyz`)).ok, 'not ready'],
    [/"stack"|^\s+at .+:\d+/m.test(log), 'a stack trace in the log'],
    [log.includes(SECRET), 'a credential in the log'],
    [peak > MAX_MEMORY_MB, `${peak} MB of memory`],
  ];
  return checks.filter(([isDamaged]) => isDamaged).map(([, text]) => text);
}

/** The meanings of all complete answers in these bytes. */
function parseAnswers(bytes: Buffer): readonly string[] {
  const meanings: string[] = [];
  let rest = bytes.toString('latin1');
  for (;;) {
    const [head, code] = /^HTTP\/1\.1 (\d{3})[^]*?\r\n\r\n/.exec(rest) ?? [];
    if (head === undefined) return meanings;
    const status = Number(code);
    const length = /^content-length: (\d+)/im.exec(head)?.[1];
    const start = head.length;
    // Without a length the body lasts until the connection ends.
    const end = length === undefined ? rest.length : start + Number(length);
    if (rest.length < end) return meanings;
    const body = Buffer.from(rest.slice(start, end), 'latin1');
    meanings.push(meaningOf(status, body.toString('utf8')));
    rest = rest.slice(end);
  }
}

/** `allowed`, the code of a denial, an HTTP status except 200, or `invalid` if no webhook may answer so. */
function meaningOf(status: number, body: string): string {
  if (status !== 200) return body.length < 200 && !/<html|\bat .+:\d+/i.test(body) ? String(status) : 'invalid';
  const { kind, response } = JSON.parse(body) as {
    readonly kind?: unknown;
    readonly response?: { uid?: unknown; allowed?: unknown; status?: { message?: string } };
  };
  if (kind !== 'AdmissionReview' || typeof response?.uid !== 'string') return 'invalid';
  if (response.allowed === true) return 'allowed';
  return /^MCG_\w+/.exec(response.status?.message ?? '')?.[0] ?? 'invalid';
}

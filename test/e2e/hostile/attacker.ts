import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:tls';

import { memoryOf } from '../../bench/memory.ts';
import { reviewBody } from '../../support/review.ts';
import { type Cluster, unique } from '../support/cluster.ts';
import { PATHS } from '../support/paths.ts';
import type { GuardedCluster } from '../support/guarded-cluster.ts';
import { machineConfig } from '../support/objects.ts';

/** A credential that the guard must never log. */
const SECRET = 'sha256~this-is-a-token-of-somebody';
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

  static async create({ guard, cluster }: GuardedCluster): Promise<Attacker> {
    const target = { host: '127.0.0.1', port: guard.ports.securePort, ca: guard.ca };
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

  /** Sends bytes, and returns what arrives until it matches or the guard closes the connection. */
  async send(bytes: Buffer, expected: RegExp): Promise<string> {
    const socket = connect({ ...this.target });
    await once(socket, 'secureConnect');
    socket.setEncoding('utf8').write(bytes);
    let text = '';
    try {
      for await (const chunk of socket) {
        text += String(chunk);
        if (expected.test(text)) break;
      }
    } catch {
      // The guard resets a connection whose request it does not read to its end.
    }
    return text;
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

import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { onTestFinished } from 'vitest';
import type { TestCluster } from '../support/test-cluster.ts';

export interface WatchEvent {
  readonly type: string;
  readonly object: { readonly metadata: Readonly<Record<string, unknown>> } & Readonly<Record<string, unknown>>;
}

export interface Watcher {
  readonly events: WatchEvent[];
  /** The end of the stream: its own, or that its connection was cut. */
  readonly over: Promise<'ended' | 'cut'>;
}

/** Opens a watch and collects what it says. Resolves when the API server has begun to answer. */
export async function watcher(
  sandbox: TestCluster,
  path: string,
  headers: Record<string, string> = {},
): Promise<Watcher> {
  const kubeconfig = JSON.parse(sandbox.kubeconfig) as {
    clusters: [{ cluster: { 'certificate-authority-data': string } }];
    users: [{ user: { token: string } }];
  };
  const { token } = kubeconfig.users[0].user;
  const ca = Buffer.from(kubeconfig.clusters[0].cluster['certificate-authority-data'], 'base64');
  const outgoing = request(new URL(path, sandbox.url), {
    ca,
    agent: false,
    headers: { authorization: `Bearer ${token}`, ...headers },
  });
  onTestFinished(() => {
    outgoing.destroy();
  });
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.on('response', resolve);
    outgoing.on('error', reject);
    outgoing.end();
  });
  const events: WatchEvent[] = [];
  let text = '';
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => {
    const lines = (text + chunk).split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) events.push(JSON.parse(line) as WatchEvent);
  });
  const over = new Promise<'ended' | 'cut'>((resolve) => {
    response.on('error', () => {
      resolve('cut');
    });
    response.on('end', () => {
      resolve('ended');
    });
  });
  return { events, over };
}

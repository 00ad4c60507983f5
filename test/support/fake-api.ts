import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { KubeConfig } from '@kubernetes/client-node';
import { onTestFinished } from 'vitest';
import type { KeyPair } from '../../src/certificates/key-pair.ts';
import { KubeApi } from '../../src/kube/api.ts';
import { KubeConnection } from '../../src/kube/connection.ts';
import { testTls } from './tls.ts';

/** One request that the fake has got. */
export interface Asked {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly watch: boolean;
}

export type Handler = (asked: Asked, response: ServerResponse) => void | Promise<void>;

export interface FakeApi {
  readonly api: KubeApi;
  readonly asked: Asked[];
  /** How many TLS connections were made. */
  connections: () => number;
  /** Cuts every connection. */
  reset: () => void;
}

let leaf: Promise<KeyPair> | undefined;

/** An HTTPS server that answers as the test says, and a client for it. For the faults that a real API server does not have on demand. */
export async function fakeApi(handler: Handler, token: () => string = () => 'token'): Promise<FakeApi> {
  const tls = await testTls();
  leaf ??= tls.leaf();
  const { certificatePem, privateKeyPem } = await leaf;
  const asked: Asked[] = [];
  let connections = 0;
  const server = createServer({ key: privateKeyPem, cert: certificatePem }, (request, response) => {
    const url = new URL(request.url ?? '/', 'https://x');
    const one = {
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      watch: url.searchParams.has('watch'),
    };
    asked.push(one);
    void handler(one, response);
  });
  server.on('secureConnection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  const connection = new KubeConnection(() => {
    const config = new KubeConfig();
    const caData = Buffer.from(tls.ca).toString('base64');
    config.loadFromClusterAndUser(
      { name: 'fake', server: `https://127.0.0.1:${port}`, caData, skipTLSVerify: false },
      { name: 'user', token: token() },
    );
    return config;
  });
  const api = new KubeApi(connection);
  onTestFinished(() => {
    api.close();
    server.closeAllConnections();
    server.close();
  });
  return {
    api,
    asked,
    connections: () => connections,
    reset: () => {
      server.closeAllConnections();
    },
  };
}

export const NODES = '/api/v1/nodes';
export const POOLS = '/apis/machineconfiguration.openshift.io/v1/machineconfigpools';
export const BUILDS = '/apis/machineconfiguration.openshift.io/v1/machineosbuilds';
export const ALPHA_BUILDS = '/apis/machineconfiguration.openshift.io/v1alpha1/machineosbuilds';

/** A node's metadata as the API server cuts it down. */
export function node(name: string, config: string, resourceVersion = '1'): Record<string, unknown> {
  const annotations = { 'machineconfiguration.openshift.io/currentConfig': config };
  return { kind: 'PartialObjectMetadata', metadata: { name, resourceVersion, annotations } };
}

export function pool(name: string, config: string, resourceVersion = '1'): Record<string, unknown> {
  return { metadata: { name, resourceVersion }, spec: { configuration: { name: config } } };
}

export function list(items: readonly unknown[], resourceVersion = '10'): string {
  return JSON.stringify({ kind: 'SomeList', metadata: { resourceVersion }, items });
}

export function send(response: ServerResponse, body: string): void {
  response.setHeader('content-type', 'application/json').end(body);
}

export function fail(response: ServerResponse, code: number, headers: Record<string, string> = {}): void {
  response.writeHead(code, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify({ kind: 'Status', status: 'Failure', code, reason: 'Because', message: 'of a test' }));
}

/**
 * The API server's directory of these collections; false where the path is not one of its own.
 */
export function directory(asked: Asked, response: ServerResponse, served: readonly string[]): boolean {
  const parts = served.map((collection) => collection.split('/'));
  if (asked.path === '/apis') {
    const groups = parts.map(([, , name, version]) => ({ name, versions: [{ version }] }));
    send(response, JSON.stringify({ kind: 'APIGroupList', groups }));
    return true;
  }
  const version = /^\/apis\/[^/]+\/[^/]+$/.exec(asked.path)?.[0];
  if (version === undefined) return false;
  const resources = served
    .filter((collection) => collection.startsWith(`${version}/`))
    .map((one) => ({ name: one.split('/').at(-1) }));
  if (resources.length === 0) notServed(response);
  else send(response, JSON.stringify({ kind: 'APIResourceList', resources }));
  return true;
}

/** The answer to a kind that is not served, as kube-apiserver words it. */
export function notServed(response: ServerResponse): void {
  response.writeHead(404, { 'content-type': 'text/plain' }).end('404 page not found\n');
}

export function event(type: string, object: unknown): string {
  return `${JSON.stringify({ type, object })}\n`;
}

export function bookmark(resourceVersion: string): string {
  return event('BOOKMARK', { kind: 'PartialObjectMetadata', metadata: { resourceVersion } });
}

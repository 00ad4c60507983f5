import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { onTestFinished } from 'vitest';
import { createAuthority } from '../../src/certificates/authority.ts';
import type { KeyPair } from '../../src/certificates/key-pair.ts';
import { issueLeaf } from '../../src/certificates/leaf.ts';
import type { TestCluster } from '../support/test-cluster.ts';

/** The part of a review that tests look at. */
export interface SentReview {
  readonly kind: string;
  readonly apiVersion: string;
  readonly request: Readonly<Record<string, unknown>> & { readonly uid: string };
}

export interface Call {
  readonly review: SentReview;
  readonly request: IncomingMessage;
}

/** What the webhook sends back: a `response` without its uid, a whole body, or nothing at all. */
export type StubAnswer =
  | { readonly response: Readonly<Record<string, unknown>>; readonly gzip?: boolean }
  | { readonly status?: number; readonly body: string }
  | 'nothing';

export interface StubWebhook {
  /** How the API server reaches it. */
  readonly at: { readonly url: string; readonly caBundle: string };
  readonly calls: Call[];
  /** How many connections were made. */
  connections: () => number;
}

/** Made once a test file: keys take longer than most tests. */
let tls: Promise<{ ca: string; leaf: KeyPair }> | undefined;

async function madeTls(): Promise<{ ca: string; leaf: KeyPair }> {
  const now = new Date();
  const authority = await createAuthority({ days: 1, now });
  const names = { dnsNames: ['guard.guard-system.svc'], ipAddresses: ['127.0.0.1'] };
  return { ca: authority.certificatePem, leaf: await issueLeaf({ authority, ...names, days: 1, now }) };
}

/** A webhook that answers as the test says. */
export async function stubWebhook(answer: (call: Call) => StubAnswer): Promise<StubWebhook> {
  tls ??= madeTls();
  const { ca, leaf } = await tls;
  const calls: Call[] = [];
  let connections = 0;
  const sockets = new Set<Socket>();
  const server = createServer({ key: leaf.privateKeyPem, cert: leaf.certificatePem }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const review = JSON.parse(Buffer.concat(chunks).toString('utf8')) as SentReview;
      const call = { review, request };
      calls.push(call);
      const given = answer(call);
      if (given === 'nothing') return;
      if ('body' in given) {
        response.writeHead(given.status ?? 200).end(given.body);
        return;
      }
      const { uid } = review.request;
      const body = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: { uid, ...given.response } };
      response.setHeader('content-type', 'application/json');
      if (given.gzip === true) response.setHeader('content-encoding', 'gzip').end(gzipSync(JSON.stringify(body)));
      else response.end(JSON.stringify(body));
    });
  });
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    at: {
      url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/validate`,
      caBundle: Buffer.from(ca).toString('base64'),
    },
    calls,
    connections: () => connections,
  };
}

/** Registers a webhook for the deletion of rendered MachineConfigs, with parts of the registration exchanged. */
export function register(
  sandbox: TestCluster,
  clientConfig: Readonly<Record<string, unknown>>,
  change: Readonly<Record<string, unknown>> = {},
): void {
  sandbox.create('validatingwebhookconfigurations', {
    metadata: { name: 'guard' },
    webhooks: [
      {
        name: 'guard.example.io',
        admissionReviewVersions: ['v1'],
        clientConfig,
        rules: [
          {
            apiGroups: ['machineconfiguration.openshift.io'],
            apiVersions: ['*'],
            operations: ['DELETE'],
            resources: ['machineconfigs'],
          },
        ],
        matchConditions: [{ name: 'rendered', expression: 'oldObject.metadata.name.startsWith("rendered-")' }],
        sideEffects: 'NoneOnDryRun',
        timeoutSeconds: 1,
        failurePolicy: 'Fail',
        ...change,
      },
    ],
  });
}

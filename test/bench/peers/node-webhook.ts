/** Webhooks in Node that do as little as possible, as a baseline of the guard. See LISTENERS for the kinds. */
import { readFileSync } from 'node:fs';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { Agent, createServer, request } from 'node:https';
import { join } from 'node:path';
import { buffer, json } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import express from 'express';

interface Review {
  readonly request: { readonly uid: string; readonly oldObject: { readonly metadata: { readonly name: string } } };
}

interface Kubeconfig {
  readonly clusters: readonly [{ readonly cluster: { server: string; 'certificate-authority-data': string } }];
  readonly users: readonly [{ readonly user: { readonly token: string } }];
}

const LISTENERS = {
  /** Allows after a search for the uid, which comes first. */
  bytes: () => (incoming, outgoing) => {
    void buffer(incoming).then((body) => {
      respond(outgoing, { uid: /"uid":"([^"]*)"/.exec(body.toString('utf8', 0, 256))?.[1], allowed: true });
    });
  },
  /** Allows after JSON.parse. */
  parse: () => (incoming, outgoing) => {
    void parseReview(incoming).then(({ request: { uid } }) => {
      respond(outgoing, { uid, allowed: true });
    });
  },
  /** Allows after express.json. */
  express: () =>
    express()
      .use(express.json({ limit: '8mb' }))
      .post('/validate', (incoming, outgoing) => {
        respond(outgoing, { uid: (incoming.body as Review).request.uid, allowed: true });
      }),
  /** Denies after one GET of a node's metadata, over a keep-alive connection. */
  get: (kubeconfig, node) => {
    const getNodeName = createNodeReader(kubeconfig, node);
    return (incoming, outgoing) => {
      void parseReview(incoming).then(async ({ request: { uid, oldObject } }) => {
        const message = `${oldObject.metadata.name} is in use by node ${await getNodeName()}`;
        const status = { status: 'Failure', code: 403, reason: 'Forbidden', message };
        respond(outgoing, { uid, allowed: false, status });
      });
    };
  },
} satisfies Record<string, (kubeconfig: string, node: string) => RequestListener>;

export type NodeWebhookKind = keyof typeof LISTENERS;

async function parseReview(incoming: IncomingMessage): Promise<Review> {
  return JSON.parse((await buffer(incoming)).toString('utf8')) as Review;
}

function respond(outgoing: ServerResponse, response: object): void {
  const review = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response };
  outgoing.setHeader('content-type', 'application/json').end(JSON.stringify(review));
}

/** Returns a function that gets the node and returns the name in the response. */
function createNodeReader(kubeconfig: string, node: string): () => Promise<string> {
  const { clusters, users } = JSON.parse(readFileSync(kubeconfig, 'utf8')) as Kubeconfig;
  const { server, 'certificate-authority-data': ca } = clusters[0].cluster;
  const agent = new Agent({ ca: Buffer.from(ca, 'base64'), keepAlive: true });
  const headers = {
    accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
    authorization: `Bearer ${users[0].user.token}`,
  };
  return async () => {
    const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
      request(`${server}/api/v1/nodes/${node}`, { agent, headers }, resolve).on('error', reject).end();
    });
    return ((await json(incoming)) as { readonly metadata: { readonly name: string } }).metadata.name;
  };
}

const { values: flags } = parseArgs({
  options: {
    kind: { type: 'string', default: '' },
    'cert-dir': { type: 'string', default: '' },
    port: { type: 'string', default: '' },
    kubeconfig: { type: 'string', default: '' },
    node: { type: 'string', default: '' },
  },
});
const listener = LISTENERS[flags.kind as NodeWebhookKind](flags.kubeconfig, flags.node);
const key = readFileSync(join(flags['cert-dir'], 'tls.key'));
const cert = readFileSync(join(flags['cert-dir'], 'tls.crt'));
// The keep-alive timeout is longer than the 90 s after which the API server closes an idle connection.
createServer({ key, cert, keepAliveTimeout: 120_000 }, listener).listen(Number(flags.port), '127.0.0.1');

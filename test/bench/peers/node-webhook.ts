/** Minimal webhooks in Node: the baselines of the guard. */
import { readFileSync } from 'node:fs';
import type { IncomingMessage, RequestListener } from 'node:http';
import { Agent, createServer, request } from 'node:https';
import { join } from 'node:path';
import { buffer, json } from 'node:stream/consumers';
import { parseArgs } from 'node:util';

interface Review {
  readonly request: {
    readonly uid: string;
    readonly oldObject: { readonly metadata: { readonly name: string } };
  };
}

interface Kubeconfig {
  readonly clusters: readonly [{ readonly cluster: { server: string; 'certificate-authority-data': string } }];
  readonly users: readonly [{ readonly user: { readonly token: string } }];
}

/**
 * `bytes` searches the uid and allows, `parse` parses JSON and allows, `get` gets a node's metadata and
 * denies.
 */
export type NodeWebhookKind = 'bytes' | 'parse' | 'get';

const { values: flags } = parseArgs({
  options: {
    kind: { type: 'string', default: '' },
    'cert-dir': { type: 'string', default: '' },
    port: { type: 'string', default: '' },
    kubeconfig: { type: 'string', default: '' },
    node: { type: 'string', default: '' },
  },
});

function createListener(kind: NodeWebhookKind): RequestListener {
  if (kind === 'bytes')
    return listen((body) => ({
      uid: /"uid":"([^"]*)"/.exec(body.toString('utf8', 0, 256))?.[1],
      allowed: true,
    }));
  if (kind === 'parse') return listen((body) => ({ uid: parseReview(body).request.uid, allowed: true }));
  const getNodeName = createNodeReader();
  return listen(async (body) => {
    const { uid, oldObject } = parseReview(body).request;
    const message = `${oldObject.metadata.name} is in use by node ${await getNodeName()}`;
    const status = { status: 'Failure', code: 403, reason: 'Forbidden', message };
    return { uid, allowed: false, status };
  });
}

function listen(answer: (body: Buffer) => object | Promise<object>): RequestListener {
  return (incoming, outgoing) => {
    void buffer(incoming).then(async (body) => {
      const apiVersion = 'admission.k8s.io/v1';
      const review = { apiVersion, kind: 'AdmissionReview', response: await answer(body) };
      outgoing.setHeader('content-type', 'application/json').end(JSON.stringify(review));
    });
  };
}

function parseReview(body: Buffer): Review {
  return JSON.parse(body.toString('utf8')) as Review;
}

/** Returns a function that gets the node and returns its name. */
function createNodeReader(): () => Promise<string> {
  const { clusters, users } = JSON.parse(readFileSync(flags.kubeconfig, 'utf8')) as Kubeconfig;
  const { server, 'certificate-authority-data': ca } = clusters[0].cluster;
  const agent = new Agent({ ca: Buffer.from(ca, 'base64'), keepAlive: true });
  const accept = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
  const headers = { accept, authorization: `Bearer ${users[0].user.token}` };
  return async () => {
    const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
      const outgoing = request(`${server}/api/v1/nodes/${flags.node}`, { agent, headers }, resolve);
      outgoing.on('error', reject).end();
    });
    return ((await json(incoming)) as { readonly metadata: { readonly name: string } }).metadata.name;
  };
}

const key = readFileSync(join(flags['cert-dir'], 'tls.key'));
const cert = readFileSync(join(flags['cert-dir'], 'tls.crt'));
// The API server closes an idle connection after 90 s.
const server = createServer({ key, cert, keepAliveTimeout: 120_000 }, createListener(flags.kind as NodeWebhookKind));
server.listen(Number(flags.port), '127.0.0.1');

/**
 * The least that a webhook in Node needs to deny by something that it has read, as a process of its own: reads the review, reads the
 * metadata of one node with one GET over a kept connection, and denies.
 */
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, request } from 'node:https';
import { join } from 'node:path';
import { json, text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';

interface Kubeconfig {
  readonly clusters: readonly [{ readonly cluster: { server: string; 'certificate-authority-data': string } }];
  readonly users: readonly [{ readonly user: { readonly token: string } }];
}

interface Review {
  readonly request: { readonly uid: string; readonly oldObject: { readonly metadata: { readonly name: string } } };
}

const { values: flags } = parseArgs({
  options: {
    'cert-dir': { type: 'string', default: '.' },
    port: { type: 'string', default: '0' },
    kubeconfig: { type: 'string', default: '' },
    node: { type: 'string', default: '' },
  },
});

const readNode = nodeReader(flags.kubeconfig, flags.node);

const tls = {
  key: readFileSync(join(flags['cert-dir'], 'tls.key')),
  cert: readFileSync(join(flags['cert-dir'], 'tls.crt')),
};
// Longer than the 90 s after which the API server closes a connection that it does not use.
createServer({ ...tls, keepAliveTimeout: 120_000 }, (incoming, outgoing) => void answer(incoming, outgoing)).listen(
  Number(flags.port),
  '127.0.0.1',
);

async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const { uid, oldObject } = (JSON.parse(await text(incoming)) as Review).request;
  const message = `${oldObject.metadata.name} is in use by node ${await readNode()}`;
  const response = { uid, allowed: false, status: { status: 'Failure', code: 403, reason: 'Forbidden', message } };
  const review = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response };
  outgoing.setHeader('content-type', 'application/json').end(JSON.stringify(review));
}

/** Asks for one node, over a connection that is kept, and answers with the name that came back. */
function nodeReader(kubeconfig: string, name: string): () => Promise<string> {
  const { clusters, users } = JSON.parse(readFileSync(kubeconfig, 'utf8')) as Kubeconfig;
  const { server, 'certificate-authority-data': ca } = clusters[0].cluster;
  const agent = new Agent({ ca: Buffer.from(ca, 'base64'), keepAlive: true });
  const headers = {
    accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
    authorization: `Bearer ${users[0].user.token}`,
  };
  return async () => {
    const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
      request(`${server}/api/v1/nodes/${name}`, { agent, headers }, resolve).on('error', reject).end();
    });
    return ((await json(incoming)) as { readonly metadata: { readonly name: string } }).metadata.name;
  };
}

/**
 * What a webhook in Node costs at least, as a process of its own: `node --import tsx plain-webhook.ts KIND KEY-FILE CERTIFICATE-FILE`
 * prints its port. It allows everything.
 */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

import express from 'express';

interface Review {
  readonly request: { readonly uid: string };
}

const LISTENERS: Readonly<Record<string, RequestListener>> = {
  bytes: (request, response) => {
    // Looks at nothing but the uid, which comes first.
    void buffer(request).then((body) => allow(response, /"uid":"([^"]*)"/.exec(body.toString('utf8', 0, 256))?.[1]));
  },
  parse: (request, response) => {
    void parsed(request).then((review) => allow(response, review.request.uid));
  },
  express: express()
    .use(express.json({ limit: '8mb' }))
    .post('/validate', (request, response) => {
      response.json(allowed((request.body as Review).request.uid));
    }),
};

async function parsed(request: IncomingMessage): Promise<Review> {
  return JSON.parse((await buffer(request)).toString('utf8')) as Review;
}

function allowed(uid: string | undefined): object {
  return { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: { uid, allowed: true } };
}

function allow(response: ServerResponse, uid: string | undefined): void {
  response.setHeader('content-type', 'application/json').end(JSON.stringify(allowed(uid)));
}

const [kind = '', keyFile = '', certificateFile = ''] = process.argv.slice(2);
const listener = LISTENERS[kind];
if (listener === undefined) throw new Error(`There is no webhook "${kind}".`);
const [key, cert] = await Promise.all([readFile(keyFile), readFile(certificateFile)]);
const server = createServer({ key, cert, keepAliveTimeout: 120_000 }, listener);
await once(server.listen(0, '127.0.0.1'), 'listening');
console.log(String((server.address() as AddressInfo).port));

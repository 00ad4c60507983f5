import { Agent, request } from 'node:https';
import { gunzipSync } from 'node:zlib';
import type { Webhook } from './webhook-registration.ts';

/** The webhook was not reached, or what it answered is no answer. The message is the reason as Go would word it. */
export class CallFailed extends Error {
  override readonly name = 'CallFailed';
}

/** Where a Service's webhook really listens. Undefined: there is no such Service. */
export type ServiceResolver = (service: {
  readonly name: string;
  readonly namespace: string;
}) => { readonly host: string; readonly port: number } | undefined;

/** Idle connections as Go's http.DefaultTransport and the webhook client manager keep them. */
const IDLE_MS = 90_000;
const IDLE_CONNECTIONS = 25;
const ANSWER_MAX = 3 * 1024 * 1024;

interface Destination {
  /** As it appears in error messages: with the Service's name, not with its address. */
  readonly url: URL;
  readonly host: string;
  readonly port: number;
  readonly servername: string | undefined;
}

/** Sends admission reviews over HTTP/1.1 and TLS, on connections that are kept as the API server keeps its own. */
export class WebhookCaller {
  readonly #resolve: ServiceResolver;
  /** One pool of connections for each trust and address, whatever the registration is called. */
  readonly #agents = new Map<string, Agent>();

  constructor(resolve: ServiceResolver) {
    this.#resolve = resolve;
  }

  /**
   * One call. Returns the parsed body of a 2xx answer.
   *
   * @throws CallFailed
   */
  async call(webhook: Webhook, review: unknown): Promise<unknown> {
    if (webhook.ca !== undefined && !webhook.ca.includes('-----BEGIN CERTIFICATE-----')) {
      throw new CallFailed(
        'could not get REST client: unable to load root certificates: unable to parse bytes as PEM block',
      );
    }
    const destination = this.#destination(webhook);
    destination.url.searchParams.set('timeout', `${webhook.timeoutSeconds}s`);
    const body = Buffer.from(JSON.stringify(review));
    const { status, text } = await this.#post(webhook, destination, body);
    if (status < 200 || status > 299) throw new CallFailed(`failed to call webhook: ${clientGoOn(status, text)}`);
    try {
      return JSON.parse(text);
    } catch {
      throw new CallFailed('failed to call webhook: the answer is not JSON');
    }
  }

  /** Closes every kept connection. */
  close(): void {
    for (const agent of this.#agents.values()) agent.destroy();
    this.#agents.clear();
  }

  #destination({ endpoint }: Webhook): Destination {
    if ('url' in endpoint) {
      const url = new URL(endpoint.url);
      const host = url.hostname.replace(/^\[|\]$/g, '');
      return { url, host, port: Number(url.port === '' ? 443 : url.port), servername: undefined };
    }
    const { name, namespace, path, port } = endpoint.service;
    const servername = `${name}.${namespace}.svc`;
    const address = this.#resolve({ name, namespace });
    const url = new URL(`https://${servername}:${port}${path === '' ? '/' : path}`);
    if (address === undefined) {
      throw new CallFailed(`failed to call webhook: Post "${url.href}": service "${name}" not found`);
    }
    return { url, ...address, servername };
  }

  async #post(
    webhook: Webhook,
    { url, host, port, servername }: Destination,
    body: Buffer,
  ): Promise<{ status: number; text: string }> {
    const failed = (why: string): CallFailed => new CallFailed(`failed to call webhook: Post "${url.href}": ${why}`);
    return await new Promise((resolve, reject) => {
      // Absolute, not for each step: a webhook that sends a byte now and then is late all the same.
      const late = setTimeout(() => {
        outgoing.destroy(failed('context deadline exceeded'));
      }, webhook.timeoutSeconds * 1000);
      const outgoing = request(
        {
          host,
          port,
          method: 'POST',
          path: `${url.pathname}${url.search}`,
          agent: this.#agent(webhook, host, port, servername),
          headers: {
            host: url.host,
            'user-agent': 'kube-apiserver-admission',
            'content-type': 'application/json',
            'content-length': body.length,
            accept: 'application/json, */*',
            'accept-encoding': 'gzip',
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          let length = 0;
          response.on('data', (chunk: Buffer) => {
            chunks.push(chunk);
            length += chunk.length;
            if (length > ANSWER_MAX) outgoing.destroy(failed('the answer is too long'));
          });
          response.on('error', (error) => {
            clearTimeout(late);
            reject(error instanceof CallFailed ? error : failed('unexpected EOF'));
          });
          response.on('end', () => {
            clearTimeout(late);
            const body = Buffer.concat(chunks);
            try {
              const plain = response.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
              resolve({ status: response.statusCode ?? 0, text: plain.toString('utf8') });
            } catch {
              reject(failed('gzip: invalid header'));
            }
          });
        },
      );
      outgoing.on('error', (error: NodeJS.ErrnoException) => {
        clearTimeout(late);
        reject(error instanceof CallFailed ? error : failed(inGo(error, host, port)));
      });
      outgoing.end(body);
    });
  }

  #agent({ ca }: Webhook, host: string, port: number, servername: string | undefined): Agent {
    const key = JSON.stringify([host, port, servername, ca]);
    const kept = this.#agents.get(key);
    if (kept !== undefined) return kept;
    const agent = new Agent({
      keepAlive: true,
      timeout: IDLE_MS,
      maxFreeSockets: IDLE_CONNECTIONS,
      minVersion: 'TLSv1.2',
      ...(ca === undefined ? {} : { ca }),
      ...(servername === undefined ? {} : { servername }),
    });
    this.#agents.set(key, agent);
    return agent;
  }
}

/** What client-go makes of a status that is no success (k8s.io/apimachinery, api/errors, NewGenericServerResponse). */
function clientGoOn(status: number, text: string): string {
  if (status === 404) return 'the server could not find the requested resource';
  if (status === 400) return 'the server rejected our request for an unknown reason';
  return `an error on the server (${JSON.stringify(text)}) has prevented the request from succeeding`;
}

/** What Go would have said, where administrators know the sentence. */
function inGo(error: NodeJS.ErrnoException, host: string, port: number): string {
  switch (error.code ?? '') {
    case 'ECONNREFUSED':
      return `dial tcp ${host}:${port}: connect: connection refused`;
    case 'ECONNRESET':
      return 'EOF';
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
      return 'tls: failed to verify certificate: x509: certificate signed by unknown authority';
    case 'CERT_HAS_EXPIRED':
      return 'tls: failed to verify certificate: x509: certificate has expired or is not yet valid';
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return `tls: failed to verify certificate: x509: certificate is not valid for ${host}`;
    default:
      return error.message;
  }
}

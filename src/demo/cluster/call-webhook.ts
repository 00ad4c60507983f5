import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import type { RegisteredWebhook } from './registered-webhook.ts';

/** @throws Error in the words of kube-apiserver if there is no JSON in a response with status 200 */
export async function callWebhook(
  { clientConfig, timeoutSeconds }: RegisteredWebhook,
  review: unknown,
): Promise<unknown> {
  const url = new URL(clientConfig.url ?? '');
  url.searchParams.set('timeout', `${timeoutSeconds}s`);
  // Limits the whole call. Received bytes do not reset the timeout.
  const signal = AbortSignal.timeout(timeoutSeconds * 1_000);
  const headers = { 'content-type': 'application/json', 'user-agent': 'kube-apiserver-admission' };
  const ca = clientConfig.caBundle === undefined ? {} : { ca: Buffer.from(clientConfig.caBundle, 'base64') };
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request(url, { method: 'POST', headers, signal, agent: false, ...ca }, resolve)
        .on('error', reject)
        .end(JSON.stringify(review));
    });
    const body = await text(response);
    if (response.statusCode === 200) return JSON.parse(body) as unknown;
    throw new Error(`an error on the server (${JSON.stringify(body)}) has prevented the request from succeeding`);
  } catch (error) {
    const reason = signal.aborted ? 'context deadline exceeded' : (error as Error).message;
    throw new Error(`failed to call webhook: Post "${url.href}": ${reason}`, { cause: error });
  }
}

import type { Express, RequestHandler } from 'express';
import type { Logger } from 'pino';
import { describeError } from '../kube/errors.ts';
import { createEndpointApp, sendText } from './endpoint-app.ts';
import { ThrottledLog } from '../common/throttled-log.ts';
import type { ScrapeAuthorizer } from './scrape-authorizer.ts';

export interface MetricsAppOptions {
  readonly metrics: { readonly scrape: () => Promise<Readonly<Record<'text' | 'contentType', string>>> };
  readonly authorizer: Pick<ScrapeAuthorizer, 'authorize'>;
  readonly log: Logger;
}

const BEARER = /^Bearer (?<token>[\w.~+/-]+=*)$/i;

/** Serves `GET /metrics` to clients whose token has the right to get it (docs/monitoring.md). */
export function createMetricsApp({ metrics, authorizer, log }: MetricsAppOptions): Express {
  const problems = new ThrottledLog(log);
  const authorize: RequestHandler = async (request, response, next) => {
    const token = BEARER.exec(request.headers.authorization ?? '')?.groups?.['token'];
    const address = request.socket.remoteAddress ?? 'unknown';
    try {
      const access = token === undefined ? 'unauthenticated' : await authorizer.authorize(token, address);
      if (access === 'allowed') next();
      else if (access === 'forbidden') sendText(response, 403, 'forbidden: needs the right to get /metrics');
      else if (access === 'throttled')
        sendText(response.set('retry-after', '1'), 429, 'too many requests: too many new tokens; retry later');
      else {
        response.set('www-authenticate', 'Bearer');
        sendText(response, 401, 'unauthorized: needs the bearer token of a service account');
      }
    } catch (error) {
      problems.warn('cannot authorize a scrape', { reason: describeError(error) });
      sendText(response, 503, 'unavailable: the API server did not review the token');
    }
  };
  const scrape: RequestHandler = async (_request, response) => {
    const { text, contentType } = await metrics.scrape();
    response.set('content-type', contentType).send(text);
  };
  return createEndpointApp('get', { '/metrics': [authorize, scrape] }, 'GET /metrics is here');
}

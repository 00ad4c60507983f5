import type { Express, RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import { describeError } from '../kube/errors.ts';
import type { Metrics } from './metrics.ts';
import type { ScrapeAuthorizer } from './scrape-authorizer.ts';
import { createStrictApp } from './strict-app.ts';

/** What the metrics' HTTP side needs. */
export interface MetricsAppOptions {
  readonly metrics: Pick<Metrics, 'scrape'>;
  readonly access: Pick<ScrapeAuthorizer, 'authorize'>;
  readonly log: Logger;
}

const BEARER = /^Bearer (?<token>[\w.~+/-]+=*)$/i;

/** `GET /metrics` for those who may: the names of nodes are not in it, but how often somebody was refused is nobody else's business. */
export function createMetricsApp({ metrics, access, log }: MetricsAppOptions): Express {
  const app = createStrictApp();
  const authorise: RequestHandler = async (request, response, next) => {
    const token = BEARER.exec(request.headers.authorization ?? '')?.groups?.['token'];
    try {
      const answer = token === undefined ? 'unauthenticated' : await access.authorize(token);
      if (answer === 'allowed') next();
      else if (answer === 'forbidden') refuse(response, 403, 'forbidden: needs the right to get /metrics');
      else
        refuse(
          response.set('www-authenticate', 'Bearer'),
          401,
          'unauthorized: needs the bearer token of a service account',
        );
    } catch (error) {
      log.warn({ reason: describeError(error) }, 'a scrape could not be authorised');
      refuse(response, 503, 'unavailable: the API server could not be asked who you are');
    }
  };

  app.get('/metrics', authorise, async (_request, response) => {
    const { text, contentType } = await metrics.scrape();
    response.set('content-type', contentType).send(text);
  });
  app.all('/metrics', (_request, response) => {
    refuse(response.set('allow', 'GET'), 405, 'method not allowed: GET /metrics is here');
  });
  app.use((_request, response) => {
    refuse(response, 404, 'not found: GET /metrics is here');
  });
  return app;
}

function refuse(response: Response, status: number, text: string): void {
  response.status(status).type('text/plain').send(`${text}\n`);
}

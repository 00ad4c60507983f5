import express, { type ErrorRequestHandler, type Express, type RequestHandler, type Response } from 'express';

type Handlers = readonly (RequestHandler | ErrorRequestHandler)[];

/** Other methods get 405, and other paths 404, trailing slashes included. */
export function createEndpointApp(
  method: 'get' | 'post',
  handlersByPath: Readonly<Record<string, Handlers>>,
  hint: string,
): Express {
  const app = express();
  app.disable('x-powered-by');
  // An ETag would cost a hash of each answer.
  app.set('etag', false);
  app.enable('case sensitive routing');
  app.enable('strict routing');
  for (const [path, handlers] of Object.entries(handlersByPath)) {
    const route = app.route(path);
    route[method](...handlers);
    route.all((_request, response) => {
      sendText(response.set('allow', method.toUpperCase()), 405, `method not allowed: ${hint}`);
    });
  }
  app.use((_request, response) => {
    sendText(response, 404, `not found: ${hint}`);
  });
  return app;
}

export function sendText(response: Response, status: number, line: string): void {
  response.status(status).type('text/plain').send(`${line}\n`);
}

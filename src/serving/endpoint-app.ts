import express, { type Express, type RequestHandler, type Response } from 'express';

/** Other methods get 405, and other paths 404, trailing slashes included. A GET may have no body. */
export function createEndpointApp(
  method: 'get' | 'post',
  handlersByPath: Readonly<Record<string, readonly RequestHandler[]>>,
  hint: string,
): Express {
  const app = express();
  app.disable('x-powered-by');
  // An ETag would cost a hash of each answer.
  app.set('etag', false);
  app.enable('case sensitive routing');
  app.enable('strict routing');
  if (method === 'get') app.use(rejectBody);
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

/** A body costs as much to discard as to read, so the connection closes. */
const rejectBody: RequestHandler = ({ headers }, response, next) => {
  if (Number(headers['content-length'] ?? 0) === 0) next();
  else sendText(response.set('connection', 'close'), 413, 'content too large: a GET has no body');
};

/** Answers with one line of plain text. */
export function sendText(response: Response, status: number, line: string): void {
  response.status(status).type('text/plain').send(`${line}\n`);
}

import express, { type Express } from 'express';

/**
 * An express application that knows exactly the paths it is given: no other case, no slash at the end, and no headers that
 * tell what it is made with or cost a hash of each answer.
 */
export function createStrictApp(): Express {
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  app.enable('case sensitive routing');
  app.enable('strict routing');
  return app;
}

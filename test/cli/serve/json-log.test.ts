import { closeSync, constants, openSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createJsonLog } from '../../../src/cli/serve/json-log.ts';
import { LogPipe } from '../../support/log-pipe.ts';
import { createTemporaryDirectory } from '../temporary-directory.ts';

test('continues while the disk is full', async () => {
  // Every write to this device fails with ENOSPC.
  const log = createJsonLog('info', openSync('/dev/full', 'w'));
  for (let line = 0; line < 20; line += 1) log.info('lost');
  // Later errors of the stream would end the process.
  await new Promise(setImmediate);
  expect(log.isLevelEnabled('info')).toBe(true);
});

test('continues while its pipe is not read, and writes the pending lines later', () => {
  const pipe = new LogPipe(path.join(createTemporaryDirectory(), 'log'));
  const descriptor = openSync(pipe.file, constants.O_WRONLY);
  onTestFinished(() => {
    pipe.close();
    closeSync(descriptor);
  });
  const log = createJsonLog('info', descriptor);
  pipe.fill();
  log.info('first');
  expect(pipe.read()).not.toContain('first');
  log.warn('second');
  expect(pipe.read()).toMatch(
    /"level":"info",.*"time":".*","msg":"first"\}\n.*"level":"warn",.*"msg":"second"\}\n$/,
  );
});

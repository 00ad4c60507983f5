import { execFileSync } from 'node:child_process';
import fs, { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createJsonLog } from '../../../src/cli/serve/json-log.ts';
import { createTemporaryDirectory } from '../temporary-directory.ts';

test('continues while the disk is full, and writes at most 1 MiB of the pending lines later', () => {
  const file = path.join(createTemporaryDirectory(), 'log');
  const log = createJsonLog('info', fs.openSync(file, 'w'));
  const write = vi.spyOn(fs, 'writeSync').mockImplementation(() => {
    throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
  });
  const filler = 'x'.repeat(1_000);
  for (let line = 0; line < 2_000; line += 1) log.info({ line, filler }, 'pending');
  write.mockRestore();
  log.info('later');
  const lines = fs.readFileSync(file, 'utf8').split('\n');
  expect(lines[0]).toContain('"line":0,');
  expect(lines.at(-2)).toContain('"msg":"later"');
  expect(fs.statSync(file).size).toBeLessThan(1_100_000);
});

/** Reads or writes a pipe until it is empty or full. */
function repeatUntilBlocked(step: () => unknown) {
  try {
    for (;;) step();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
  }
}

test('continues while its pipe is not read, and writes the pending lines later', () => {
  const file = path.join(createTemporaryDirectory(), 'log');
  execFileSync('mkfifo', [file]);
  const pipe = openSync(file, constants.O_RDWR | constants.O_NONBLOCK);
  const descriptor = openSync(file, constants.O_WRONLY);
  onTestFinished(() => [pipe, descriptor].forEach(closeSync));
  const log = createJsonLog('info', descriptor);
  const chunk = Buffer.alloc(4096);
  let text = '';
  const read = () => {
    repeatUntilBlocked(() => (text += chunk.toString('utf8', 0, readSync(pipe, chunk))));
    return text;
  };
  repeatUntilBlocked(() => writeSync(pipe, '.'.repeat(1024)));
  log.info('first');
  expect(read()).not.toContain('first');
  log.warn('second');
  expect(read()).toMatch(/"level":"info",.*"time":".*","msg":"first"\}\n.*"level":"warn",.*"msg":"second"\}\n$/);
});

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';

/** Creates a directory that ends with the test. */
export function createTemporaryDirectory(): string {
  const directory = mkdtempSync(path.join(tmpdir(), 'mcg-cli-'));
  onTestFinished(() => {
    rmSync(directory, { recursive: true });
  });
  return directory;
}

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';

export function createTemporaryDirectory(): string {
  const directory = mkdtempSync(path.join(tmpdir(), 'mcg-cli-'));
  onTestFinished(() => {
    rmSync(directory, { recursive: true });
  });
  return directory;
}

export function writeFiles(directory: string, files: Readonly<Record<string, string | Buffer>>): void {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(directory, file)), { recursive: true });
    writeFileSync(path.join(directory, file), text);
  }
}

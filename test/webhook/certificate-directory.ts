import { mkdtemp, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino, type Logger } from 'pino';
import { onTestFinished } from 'vitest';
import { createAuthority } from '../../src/certificates/authority.ts';
import type { KeyPair } from '../../src/certificates/key-pair.ts';
import { issueLeaf } from '../../src/certificates/leaf.ts';

/** Serving certificates of one authority, each with its own key. */
export async function leaves(count: number, now = new Date(), days = 7): Promise<KeyPair[]> {
  const authority = await createAuthority({ days: 30, now });
  const made: KeyPair[] = [];
  for (let i = 0; i < count; i += 1) {
    made.push(await issueLeaf({ authority, dnsNames: ['guard.example.com'], ipAddresses: [], days, now }));
  }
  return made;
}

/** An empty directory that goes away with the test. */
export async function emptyDirectory(): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), 'mcg-certificates-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** What kubelet does to a Secret volume: a new generation beside the old one, then ..data swapped by a rename. */
export async function swapGeneration(
  volume: string,
  generation: number,
  { certificatePem, privateKeyPem }: KeyPair,
): Promise<void> {
  const name = `..generation_${generation}`;
  await mkdir(path.join(volume, name));
  await writeFile(path.join(volume, name, 'tls.crt'), certificatePem);
  await writeFile(path.join(volume, name, 'tls.key'), privateKeyPem);
  await symlink(name, path.join(volume, '..data_tmp'));
  await rename(path.join(volume, '..data_tmp'), path.join(volume, '..data'));
  if (generation > 1) {
    await rm(path.join(volume, `..generation_${generation - 1}`), { recursive: true });
    return;
  }
  await symlink('..data/tls.crt', path.join(volume, 'tls.crt'));
  await symlink('..data/tls.key', path.join(volume, 'tls.key'));
}

/** A signal that ends with the test. */
export function untilTestEnds(): AbortSignal {
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  return controller.signal;
}

/** A logger and the messages it was given, one string a line: "warn: text". */
export function recordingLog(): { readonly log: Logger; readonly lines: string[] } {
  const lines: string[] = [];
  const log = pino(
    { level: 'debug' },
    {
      write(line: string): void {
        const { level, msg } = JSON.parse(line) as { level: number; msg: string };
        lines.push(`${pino.levels.labels[level]}: ${msg}`);
      },
    },
  );
  return { log, lines };
}

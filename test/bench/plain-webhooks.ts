import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { issueServerCertificate } from '../e2e/control-plane/certificates.ts';
import { Child } from '../e2e/control-plane/child.ts';
import type { ControlPlane } from '../e2e/control-plane/control-plane.ts';

const PROGRAM = fileURLToPath(new URL('peers/plain-webhook.ts', import.meta.url));
const START_TIMEOUT_MS = 30_000;

/** A webhook of peers/plain-webhook.ts, in a process of its own that ends with the control plane. */
export interface PlainWebhook {
  readonly url: string;
  /** PEM of the authority of its certificate. */
  readonly ca: string;
  readonly pid: number;
}

/** `kind`: what it does with a body, as peers/plain-webhook.ts names it. */
export async function startPlainWebhook({ directory, reaper }: ControlPlane, kind: string): Promise<PlainWebhook> {
  const pair = await issueServerCertificate();
  const file = (extension: string) => join(directory, `plain-webhook-${kind}.${extension}`);
  await writeFile(file('key'), pair.key, { mode: 0o600 });
  await writeFile(file('crt'), pair.certificate);
  const child = new Child({
    command: process.execPath,
    args: ['--import', 'tsx', PROGRAM, kind, file('key'), file('crt')],
    logFile: file('log'),
    reaper,
  });
  const port = async () => /^\d+$/m.exec(await readFile(file('log'), 'utf8'))?.[0];
  await child.waitUntil(async () => (await port()) !== undefined, START_TIMEOUT_MS);
  return { url: `https://127.0.0.1:${await port()}/validate`, ca: pair.ca, pid: child.pid };
}

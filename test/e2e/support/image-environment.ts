import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const CONTAINERFILE = fileURLToPath(new URL('../../../Containerfile', import.meta.url));

/** The environment variables of the image. The tests run the guard with them, as a cluster does. */
export function imageEnvironment(): Readonly<Record<string, string>> {
  const variables = readFileSync(CONTAINERFILE, 'utf8').matchAll(/^ENV (\w+)="?([^"\n]+)"?$/gm);
  return Object.fromEntries([...variables].map(([, name, value]) => [name, value])) as Record<string, string>;
}

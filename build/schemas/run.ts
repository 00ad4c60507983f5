import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { collectSchemas } from './collect.ts';
import { MissingModuleError } from './go-modules.ts';

const FILE = path.join(import.meta.dirname, '../../src/manifests/schemas.jsonl');

/** `npm run schemas` writes the data file. `npm run schemas -- --check` exits with 1 if it is stale. */
async function main(): Promise<number> {
  const text = `${(await collectSchemas()).join('\n')}\n`;
  if (!process.argv.includes('--check')) {
    writeFileSync(FILE, text);
    console.log(`wrote ${path.relative(process.cwd(), FILE)}: ${text.length} bytes`);
    return 0;
  }
  const isFresh = readFileSync(FILE, 'utf8') === text;
  console.log(isFresh ? 'the schemas are those of the modules' : 'the schemas are stale: run npm run schemas');
  return isFresh ? 0 : 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof MissingModuleError)) throw error;
  console.error(error.message);
  process.exitCode = 3;
}

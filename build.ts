import { realpathSync } from 'node:fs';
import { chmod, mkdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Metafile } from 'esbuild';

const ROOT = path.dirname(fileURLToPath(import.meta.url));

/** package.json points `bin` here. */
const OUTPUT = path.join(ROOT, 'dist', 'machineconfig-guard.cjs');

/**
 * Bundles the program into one executable file that runs without node_modules, with the licence comments of what it contains in
 * `<outfile>.LEGAL.txt` beside it. Answers esbuild's account of what went in. Throws on any error and on any warning: in a
 * bundle a warning (an empty `import.meta`, an unresolved require) is a failure that waits for its user.
 */
export async function bundle(outfile: string): Promise<Metafile> {
  await mkdir(path.dirname(outfile), { recursive: true });
  const result = await build({
    absWorkingDir: ROOT,
    entryPoints: ['src/cli/main.ts'],
    outfile,
    bundle: true,
    platform: 'node',
    // The oldest Node in package.json's `engines`.
    target: 'node20.19',
    // CommonJS starts without the createRequire shim that express and pino would need in an ES module, and keeps dynamic imports
    // lazy: each becomes a module initialiser that runs on first use.
    format: 'cjs',
    banner: { js: '#!/usr/bin/env node' },
    // Names stay: a stack trace in a bug report must be readable. They cost a third of the file and no start-up time worth the
    // loss.
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'linked',
    metafile: true,
    logLevel: 'warning',
  });
  if (result.warnings.length > 0) {
    await rm(outfile, { force: true });
    throw new Error(`the bundle has ${result.warnings.length} warning(s), see above: ${outfile} was not kept`);
  }
  await chmod(outfile, 0o755);
  return result.metafile;
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  await bundle(OUTPUT);
  const { size } = await stat(OUTPUT);
  console.log(`${path.relative(process.cwd(), OUTPUT)}  ${(size / 2 ** 20).toFixed(1)} MiB`);
}

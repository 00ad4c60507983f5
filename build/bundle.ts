import { realpathSync } from 'node:fs';
import { brotliCompressSync, constants } from 'node:zlib';
import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Metafile, type Plugin } from 'esbuild';
import { atFirstUse, leanClient, withoutUnused } from './lean-libraries.ts';
import { extractLicenses, writeSbom } from './packages.ts';

const ROOT = path.join(import.meta.dirname, '..');

/** The bundle runs without manifests/ and docs/ beside it. Their files replace the module that reads them. */
const filesInside: Plugin = {
  name: 'files-inside',
  setup(bundler) {
    bundler.onLoad({ filter: /[\\/]files[\\/]package-file\.ts$/ }, async () => {
      const names = ['README.md', ...(await Promise.all(['docs', 'manifests'].map(listFiles))).flat().sort()];
      const files = await Promise.all(names.map(async (name) => [name, await readFile(path.join(ROOT, name), 'utf8')]));
      return {
        loader: 'ts',
        contents: `const FILES: Record<string, string> = ${JSON.stringify(Object.fromEntries(files))};
          export function readPackageFile(name: string): string {
            const text = FILES[name];
            if (text === undefined) throw new Error('there is no file ' + name);
            return text;
          }`,
      };
    });
  },
};

/** The schemas of all kinds, which only one command reads. */
const schemasInside: Plugin = {
  name: 'schemas-inside',
  setup(bundler) {
    bundler.onLoad({ filter: /[\\/]manifests[\\/]schema-file\.ts$/ }, async () => {
      const text = await readFile(path.join(ROOT, 'src/manifests/schemas.jsonl'));
      // The highest quality saves a sixth, and takes seconds.
      const compressed = brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } });
      return {
        loader: 'ts',
        contents: `import { brotliDecompressSync } from 'node:zlib';
          const COMPRESSED = ${JSON.stringify(compressed.toString('base64'))};
          export function readSchemaFile(): string {
            return brotliDecompressSync(Buffer.from(COMPRESSED, 'base64')).toString();
          }`,
      };
    });
  },
};

/** The manifests, and the pages for users, by their paths in the repository. */
async function listFiles(folder: string): Promise<string[]> {
  const names = await readdir(path.join(ROOT, folder), { recursive: true });
  const files = names.map((name) => path.join(folder, name));
  return files.filter((name) => /\.(?:md|yaml)$/.test(name) && !name.startsWith('docs/internals/'));
}

/**
 * Bundles the program into one executable file that runs without node_modules. Beside it are the licenses of the
 * packages that it contains (`THIRD-PARTY-LICENSES.txt`) and a bill of materials (`sbom.cdx.json`).
 * @returns what esbuild says about the contents
 * @throws Error for any esbuild error or warning: a warning in a bundle (an empty `import.meta`, an unresolved require)
 *   is a failure at run time
 */
export async function bundle(outfile: string): Promise<Metafile> {
  await mkdir(path.dirname(outfile), { recursive: true });
  const result = await build({
    absWorkingDir: ROOT,
    entryPoints: ['src/cli/main.ts'],
    outfile,
    bundle: true,
    // Names of modules are part of the output: they must not tell where a linked node_modules really is.
    preserveSymlinks: true,
    platform: 'node',
    // The oldest Node in package.json's `engines`.
    target: 'node20.19',
    // CommonJS starts without the createRequire shim that express and pino would need in an ES module, and keeps
    // dynamic imports lazy: each becomes a module initialiser that runs on first use.
    format: 'cjs',
    banner: { js: '#!/usr/bin/env node' },
    // Names stay: a stack trace in a bug report must be readable. They cost a third of the file and no start-up time
    // worth the loss.
    minifyWhitespace: true,
    minifySyntax: true,
    // The licenses are in a file of their own, whole.
    legalComments: 'none',
    plugins: [filesInside, schemasInside, leanClient, withoutUnused, atFirstUse, writeSbom],
    metafile: true,
    logLevel: 'warning',
  });
  if (result.warnings.length > 0) {
    await rm(outfile, { force: true });
    throw new Error(`the bundle has ${result.warnings.length} warning(s), see above: ${outfile} was not kept`);
  }
  await escapeUnicode(outfile);
  await chmod(outfile, 0o755);
  await extractLicenses(path.dirname(outfile));
  return result.metafile;
}

/**
 * Writes all but ASCII as escapes. esbuild does not in regular expressions, and with one such character Node reads and
 * keeps the whole file as UTF-16.
 */
async function escapeUnicode(file: string): Promise<void> {
  const text = await readFile(file, 'utf8');
  const toEscape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  await writeFile(file, text.replaceAll(/[^\0-\u007F]/g, toEscape));
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const outfile = path.join(ROOT, 'dist', 'machineconfig-guard.cjs');
  await bundle(outfile);
  console.log(`${path.relative(process.cwd(), outfile)}  ${((await stat(outfile)).size / 2 ** 20).toFixed(1)} MiB`);
}

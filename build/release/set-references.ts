import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { ROOT } from './run-tool.ts';

/** A remote base of kustomize, and an image. */
const REFERENCE = /(?<=\?ref=v|\bmachineconfig-guard:)\d+\.\d+\.\d+(?:-[\w.]+)?/g;

// `npm version` runs this after it has changed package.json. The examples in the documentation name the version.
const pages = (await readdir(path.join(ROOT, 'docs'), { recursive: true })).map((name) => path.join('docs', name));
for (const page of ['README.md', ...pages.filter((name) => /\.(?:md|yaml)$/.test(name))]) {
  const text = await readFile(path.join(ROOT, page), 'utf8');
  const changed = text.replaceAll(REFERENCE, packageJson.version);
  if (changed === text) continue;
  await writeFile(path.join(ROOT, page), changed);
  console.log(page);
}

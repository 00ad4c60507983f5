import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { ROOT } from './run-tool.ts';

/** A remote base of kustomize, an image, and the label of the version. */
const REFERENCE = /(?<=\?ref=v|\bmachineconfig-guard:|\bapp\.kubernetes\.io\/version: )\d+\.\d+\.\d+(?:-[\w.]+)?/g;

// To run after `npm version` has changed package.json. The examples in the documentation and the labels of the
// manifests name the version.
const listFiles = async (folder: string): Promise<string[]> => {
  const names = await readdir(path.join(ROOT, folder), { recursive: true });
  return names.filter((name) => /\.(?:md|yaml)$/.test(name)).map((name) => path.join(folder, name));
};
for (const page of ['README.md', ...(await listFiles('docs')), ...(await listFiles('manifests'))]) {
  const text = await readFile(path.join(ROOT, page), 'utf8');
  const changed = text.replaceAll(REFERENCE, packageJson.version);
  if (changed === text) continue;
  await writeFile(path.join(ROOT, page), changed);
  console.log(page);
}

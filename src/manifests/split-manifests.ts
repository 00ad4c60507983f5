import { access, constants, cp, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { explainErrors, FileError, formatPath } from '../files/file-error.ts';
import { createNodeBudget, MAX_NODES_OF_DIRECTORY } from '../files/yaml-document.ts';
import { parseStream, type StreamDocument } from '../files/yaml-stream.ts';
import { prepareEmptyDirectory, WRITE } from '../client/output-directory.ts';
import { createEmptyError, MANIFEST, type ManifestInput } from './read-manifests.ts';

/**
 * Gives each document a file of its own, and no file to an empty one. Other files stay as they are.
 * @throws FileError, CliError; the signal's reason
 */
export async function splitManifests(
  directory: string,
  { files }: ManifestInput,
  out: string,
  signal: AbortSignal,
): Promise<void> {
  const contents = new Map<string, string | Buffer>();
  const others: string[] = [];
  const budget = createNodeBudget(MAX_NODES_OF_DIRECTORY);
  for (const { path: file, content } of files) {
    signal.throwIfAborted();
    // Beside the folders are the install-config with its pull secret, and large files.
    if (content === undefined && path.dirname(file) !== '.') others.push(file);
    if (content === undefined) continue;
    const { documents } = parseStream(content, formatPath(file), budget);
    const texts = documents.some(({ error }) => error) ? [content] : splitDocuments(documents);
    const { dir, name, ext } = path.parse(path.join(out, file));
    for (const [index, text] of texts.entries()) {
      const suffix = texts.length < 2 ? '' : `-${String(index + 1).padStart(2, '0')}`;
      // A single file can have any name, but installers read only manifests.
      const target = path.join(dir, `${name}${suffix}${ext}${MANIFEST.test(ext) ? '' : '.yaml'}`);
      if (contents.has(target)) throw new FileError(`two files would be ${formatPath(target)}; rename one`);
      contents.set(target, text);
    }
  }
  for (const file of others) await explainErrors(file, () => access(path.join(directory, file), constants.R_OK));
  if (contents.size === 0) throw createEmptyError(directory);
  await prepareEmptyDirectory(out);
  await explainErrors(
    out,
    async () => {
      try {
        for (const [target, content] of contents) {
          signal.throwIfAborted();
          await mkdir(path.dirname(target), { recursive: true });
          // Manifests can contain secrets.
          await writeFile(target, content, { mode: 0o600, flag: 'wx' });
        }
        // A link in a directory that no installer reads can lead to large files. It stays a link.
        for (const file of others) {
          signal.throwIfAborted();
          await cp(path.join(directory, file), path.join(out, file), { recursive: true, verbatimSymlinks: true });
        }
      } catch (error) {
        // A part of the manifests would look like all.
        for (const name of await readdir(out)) await rm(path.join(out, name), { recursive: true, force: true });
        throw error;
      }
    },
    WRITE,
  );
}

/** Comments between documents stay with the one before. */
function splitDocuments(documents: readonly StreamDocument[]): string[] {
  const texts: string[] = [];
  let head = '';
  for (const { text, value } of documents) {
    if (value !== null) texts.push(texts.length === 0 ? head + text : text);
    // Without its separator, an empty document at the beginning is only a comment.
    else if (texts.length === 0) head += text.replace(/^(\uFEFF?)---/, '$1');
    else texts.push(`${texts.pop()}${text}`);
  }
  return texts;
}

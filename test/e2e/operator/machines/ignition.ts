import { chmod, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';

interface Resource {
  /** A data URL, as in every config of the operator. */
  readonly source?: string;
  readonly compression?: string;
}

interface Unit {
  readonly name: string;
  readonly contents?: string;
  readonly mask?: boolean;
  readonly dropins?: readonly { readonly name: string; readonly contents?: string }[];
}

/** What the tests read of an Ignition config. */
export interface IgnitionConfig {
  readonly storage: {
    readonly files: readonly { readonly path: string; readonly mode?: number; readonly contents: Resource }[];
  };
  readonly systemd?: { readonly units?: readonly Unit[] };
}

const UNIT_FOLDER = '/etc/systemd/system';

/** The text of a file in a config. Empty if the config does not have it. */
export async function readIgnitionFile({ storage }: IgnitionConfig, path: string): Promise<string> {
  const file = storage.files.find((each) => each.path === path);
  return file === undefined ? '' : (await decode(file.contents)).toString();
}

/** Writes the files and units of a config to a disk, as Ignition does at the first boot. */
export async function writeIgnitionConfig(disk: string, { storage, systemd }: IgnitionConfig): Promise<void> {
  const write = async (path: string, content: Buffer | string, mode = 0o644) => {
    const file = await prepareFile(disk, path);
    await writeFile(file, content);
    await chmod(file, mode);
  };
  for (const { path, mode, contents } of storage.files) await write(path, await decode(contents), mode);
  for (const { name, contents, mask, dropins = [] } of systemd?.units ?? []) {
    const path = join(UNIT_FOLDER, name);
    if (mask === true) await symlink('/dev/null', await prepareFile(disk, path));
    else if (contents) await write(path, contents);
    for (const dropin of dropins) await write(join(`${path}.d`, dropin.name), dropin.contents ?? '');
  }
}

/** Makes the folder of a file, and removes an older file. Returns its path on this machine. */
async function prepareFile(disk: string, path: string): Promise<string> {
  const file = join(disk, path);
  await mkdir(dirname(file), { recursive: true });
  await rm(file, { force: true });
  return file;
}

async function decode({ source = 'data:,', compression }: Resource): Promise<Buffer> {
  const response = await fetch(source);
  const content = Buffer.from(await response.arrayBuffer());
  return compression === 'gzip' ? gunzipSync(content) : content;
}

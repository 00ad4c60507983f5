import forge from 'node-forge';
import { groupBy } from '../common/group-by.ts';
import { formatGoYaml, UnverifiableContent } from './go-yaml.ts';
import { hasIgnitionContent, type RenderedConfig } from './rendered-config.ts';
import { type ConfigName, parsePoolName, RENDERED_PREFIX, toConfigName } from '../mco/machine-config.ts';

/** The salt of every release (machine-config-operator, pkg/controller/render/hash.go). */
const SALT = Buffer.from(
  '107ccee48b38afaf4fe586769d9ad36e195d2ffdac6a2507ae0da0b96e115734' +
    'db830cceda8d7487bcb5c097e93e7ea54053b3770fa8d0c5926b3ae385bcee1a' +
    '211aebca20ad1fea2990944f06ce1716',
  'hex',
);

/**
 * The name that the Machine Config Operator gives to a rendered config with this spec: `rendered-POOL-` and an MD5 of
 * its YAML. The spec must be as the operator wrote it: the machine-config-server changes some specs that it serves.
 * @throws UnverifiableContent
 */
export function computeRenderedName(pool: string, spec: object): ConfigName {
  // The MD5 of OpenSSL fails under FIPS, although this one protects nothing.
  const md5 = forge.md.md5.create();
  for (const part of [SALT, Buffer.from(formatGoYaml(spec))]) md5.update(part.toString('latin1'));
  return toConfigName(`${RENDERED_PREFIX}${pool}-${md5.digest().toHex()}`);
}

/** Whether the hash in the name is of this content. Null if the hash cannot verify the content. */
export function hasMatchingName({ name, spec }: Pick<RenderedConfig, 'name' | 'spec'>): boolean | null {
  const pool = parsePoolName(name);
  try {
    return pool !== undefined && computeRenderedName(pool, spec) === name;
  } catch (error) {
    if (error instanceof UnverifiableContent) return null;
    throw error;
  }
}

/** Of the copies of each config, the one that matches its name, or else one with Ignition content. */
export function chooseCopies(configs: readonly RenderedConfig[]): RenderedConfig[] {
  return [...groupBy(configs, ({ name }) => name).values()].flatMap((copies) =>
    copies.length === 1
      ? copies
      : (copies.find(hasMatchingName) ?? copies.find(hasIgnitionContent) ?? copies.slice(0, 1)),
  );
}

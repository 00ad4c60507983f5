import { createHash } from 'node:crypto';
import { type ConfigName, parsePoolName, RENDERED_PREFIX, toConfigName } from '../decision/config-name.ts';
import { formatGoYaml } from './go-yaml.ts';
import type { RenderedConfig } from './rendered-config.ts';

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
 */
export function computeRenderedName(pool: string, spec: object): ConfigName {
  const hash = createHash('md5').update(SALT).update(formatGoYaml(spec)).digest('hex');
  return toConfigName(`${RENDERED_PREFIX}${pool}-${hash}`);
}

/** Whether the hash in the name is of this content. */
export function hasMatchingName({ name, spec }: Pick<RenderedConfig, 'name' | 'spec'>): boolean {
  const pool = parsePoolName(name);
  return pool !== undefined && computeRenderedName(pool, spec) === name;
}

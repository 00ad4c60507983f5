import { computeRenderedName } from '../../src/rendered-config/config-hash.ts';
import { type ConfigName, toConfigName } from '../../src/mco/machine-config.ts';

/** A rendered config whose name contains the hash of its content. */
export interface RenderedContent {
  readonly name: ConfigName;
  readonly pool: string;
  readonly spec: object;
}

/** The content of a config of a pool. Another label gives another content, and so another name. */
export function renderConfig(pool: string, label: string): RenderedContent {
  const source = `data:,server%20${label}.example.com`;
  const spec = {
    config: {
      ignition: { version: '3.4.0' },
      storage: { files: [{ path: '/etc/chrony.conf', mode: 420, overwrite: true, contents: { source } }] },
    },
    fips: false,
    kernelType: 'default',
    osImageURL: `quay.io/openshift/os@sha256:${'ac2ad5b01eed7b02'.repeat(4)}`,
  };
  return { pool, spec, name: toConfigName(computeRenderedName(pool, spec)) };
}

const LABELS = ['A', 'B', 'X', 'Y', 'Z'] as const;

/** Some configs of a pool. */
export function listConfigs(pool: string): readonly RenderedContent[] {
  return LABELS.map((label) => renderConfig(pool, label));
}

/** Their names: X is the missing one, Y that of the pool, in most states. */
export function nameConfigs(pool: string): Readonly<Record<(typeof LABELS)[number], ConfigName>> {
  const name = (label: string) => renderConfig(pool, label).name;
  return { A: name('A'), B: name('B'), X: name('X'), Y: name('Y'), Z: name('Z') };
}

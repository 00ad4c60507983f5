import type { Logger } from 'pino';
import { type ApiObject, MalformedObject } from '../kube/api-object.ts';
import type { Resource } from '../kube/resource.ts';
import { type ConfigName, toConfigName } from '../decision/config-name.ts';
import type { KubeApi } from '../kube/api.ts';
import { Reflector, type ReflectorTiming } from '../kube/reflector.ts';

/** What is kept of a MachineConfig. */
interface KnownConfig {
  readonly name: ConfigName;
}

/** Deletions that are remembered; the oldest goes first. */
const REMEMBERED = 1_000;

/** All MachineConfigs, source ones too: an annotation may name any. Their names are all that is kept of them. */
export const MACHINE_CONFIGS: Resource<KnownConfig> = {
  kind: 'MachineConfig',
  name: 'machineconfigs',
  paths: ['/apis/machineconfiguration.openshift.io/v1/machineconfigs'],
  isOptional: true,
  isMetadataOnly: true,
  parse: ({ metadata }: ApiObject): KnownConfig => {
    if (typeof metadata?.name !== 'string' || metadata.name === '')
      throw new MalformedObject('a MachineConfig has no name');
    return { name: toConfigName(metadata.name) };
  },
};

/** What {@link ConfigIndex} needs. */
export interface ConfigIndexOptions {
  readonly api: KubeApi;
  readonly log: Logger;
  readonly timing?: ReflectorTiming | undefined;
  readonly now?: () => Date;
}

/** Which configs there are, as last heard, and when others were heard to be gone. */
export class ConfigIndex {
  readonly #reflector: Reflector<KnownConfig>;
  readonly #deletedAt = new Map<ConfigName, Date>();

  constructor({ api, log, timing, now = () => new Date() }: ConfigIndexOptions) {
    const onChange = (before: KnownConfig | undefined, after: KnownConfig | undefined): void => {
      if (before === undefined || after !== undefined) return;
      const { name } = before;
      this.#deletedAt.delete(name);
      this.#deletedAt.set(name, now());
      for (const oldest of this.#deletedAt.keys()) {
        if (this.#deletedAt.size <= REMEMBERED) break;
        this.#deletedAt.delete(oldest);
      }
    };
    this.#reflector = new Reflector({ api, source: MACHINE_CONFIGS, log, timing, onChange });
  }

  /** Have they been read completely once since the start? */
  get isSynced(): boolean {
    return this.#reflector.isSynced;
  }

  /** The names of those that there are. */
  names(): ReadonlySet<ConfigName> {
    return new Set([...this.#reflector.objects()].map(({ name }) => name));
  }

  /** When a config that is not there any more was heard to be gone; undefined where it was never heard of. */
  deletedAt(name: ConfigName): Date | undefined {
    return this.#deletedAt.get(name);
  }

  /** Follows the cluster until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#reflector.run(signal);
  }
}

import { isRecord } from '../rendered-config/rendered-config.ts';
import { addFormat } from './go-reg-exp.ts';
import { readSchemaFile } from './schema-file.ts';

/** JSON Schema (draft 7), and what Kubernetes adds to it (build/schemas/convert-schema.ts). */
export interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly allOf?: readonly Schema[];
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly type?: string | readonly string[];
  readonly default?: unknown;
  /** One of an API, or a regular expression of Go such as `/^a/`. */
  readonly format?: string;
  /** An expression for what rules see in place of a text. They see the text if it fails. */
  readonly conversion?: string;
  /** Whether the decoder ignores the case of keys, as encoding/json does. */
  readonly ignoresCase?: boolean;
  /** Whether an object keeps unknown fields. */
  readonly isOpen?: boolean;
  /** The fields that identify an item of a list. Empty if the item itself does. */
  readonly listKeys?: readonly string[];
  readonly cel?: readonly CelRule[];
  /** What the value must do, by the keyword that says so. */
  readonly must?: Readonly<Record<string, string>>;
}

/** A rule in CEL, with the variable `self`: one of a CRD, or one of the overlay (build/schemas/overlay.yaml). */
export interface CelRule {
  readonly rule: string;
  /** Of a CRD. */
  readonly message?: string;
  /** Of the overlay: what the value must do. */
  readonly must?: string;
  /** An expression for the reason of a violation. Empty for none. */
  readonly cause?: string;
  /** Of the overlay: the code of a violation that every reader accepts. */
  readonly code?: 'IgnoredName' | 'UnlikelyValue';
}

/** What a kind is in some releases. */
export interface KindVersion {
  readonly apiVersion: string;
  readonly kind: string;
  readonly releases: readonly string[];
  /** Undefined if every cluster of these releases has the kind, or else the feature sets of those that have it. */
  readonly featureSets?: readonly string[];
  readonly isNamespaced?: boolean;
  /** Whether a program decodes it into a type of Go, for which null is like no value. */
  readonly isGo?: boolean;
  readonly schema: Schema;
}

/** Lists of build/schemas/names.yaml. */
type NameList =
  | 'clientGroups'
  | 'clientTypes'
  | 'installerConfigs'
  | 'namespaces'
  | 'operatorConfigs'
  | 'ownTypes'
  | 'renderInputs'
  | 'unlistedTypes';

interface Header {
  /** Oldest first. */
  readonly releases: readonly string[];
  readonly names: Readonly<Record<NameList, readonly string[]>>;
  /** Those of build/schemas/functions.yaml: the expression of each signature. */
  readonly functions: Readonly<Record<string, string | null>>;
}

/** The schema of a field, or of each value of a mapping. */
export function findFieldSchema({ properties, additionalProperties }: Schema, name: string): Schema | undefined {
  if (properties !== undefined && Object.hasOwn(properties, name)) return properties[name];
  return typeof additionalProperties === 'object' ? additionalProperties : undefined;
}

const KIND_LINE = /^\{"apiVersion":"([^"]*)","kind":"([^"]*)"/;
const PART_LINE = /^\{"id":"(\w+)"/;

let shared: KindCatalog | undefined;

/** The group of an `apiVersion`. Empty for Kubernetes' first kinds. */
export function getGroup(apiVersion: string): string {
  return apiVersion.includes('/') ? (apiVersion.split('/', 1)[0] ?? '') : '';
}

/** The kinds that a cluster has after its install, of all releases that this program knows. */
export class KindCatalog {
  /** The one that is read once. */
  static shared(): KindCatalog {
    shared ??= new KindCatalog();
    return shared;
  }

  readonly releases: Header['releases'];
  readonly functions: Header['functions'];
  /** With the empty one of Kubernetes' first kinds. */
  readonly groups = new Set<string>();
  readonly #names: Readonly<Record<NameList, RegExp>>;
  readonly #lines = new Map<string, string[]>();
  readonly #parts = new Map<string, string | Schema>();
  readonly #versions = new Map<string, readonly KindVersion[]>();

  private constructor() {
    const [header = '{}', ...lines] = readSchemaFile().trimEnd().split('\n');
    const { releases, names, functions } = JSON.parse(header) as Header;
    this.releases = releases;
    this.functions = functions;
    const patterns = Object.entries(names).map(([list, parts]) => [list, new RegExp(`^(?:${parts.join('|')})$`)]);
    this.#names = Object.fromEntries(patterns) as Record<NameList, RegExp>;
    for (const line of lines) {
      const [, apiVersion, kind] = KIND_LINE.exec(line) ?? [];
      const key = `${apiVersion} ${kind}`;
      const known = this.#lines.get(key);
      if (apiVersion === undefined) this.#parts.set(PART_LINE.exec(line)?.[1] ?? '', line);
      else if (known !== undefined) known.push(line);
      else {
        this.#lines.set(key, [line]);
        this.groups.add(getGroup(apiVersion));
      }
    }
  }

  /** Each kind as `apiVersion kind`. */
  get names(): Iterable<string> {
    return this.#lines.keys();
  }

  /** Whether a name is known to be one of the list. */
  has(list: NameList, name: string): boolean {
    return this.#names[list].test(name);
  }

  /** The versions of a kind in the releases. Empty if no release has it. */
  find(apiVersion: string, kind: string): readonly KindVersion[] {
    const key = `${apiVersion} ${kind}`;
    let versions = this.#versions.get(key);
    if (versions === undefined) {
      versions = (this.#lines.get(key) ?? []).map((line) => this.#parse(line));
      this.#versions.set(key, versions);
    }
    return versions;
  }

  /** Parses a line, with the shared parts of its schema instead of their names. */
  #parse(line: string): KindVersion {
    return JSON.parse(line, (_key, value: unknown) => {
      const { $ref: name, format } = isRecord(value) ? value : {};
      if (typeof format === 'string' && format.startsWith('/')) addFormat(format);
      return typeof name === 'string' ? this.#findPart(name) : value;
    }) as KindVersion;
  }

  #findPart(name: string): Schema {
    const part = this.#parts.get(name);
    if (typeof part === 'object') return part;
    // A part can contain itself.
    const schema: Schema = {};
    this.#parts.set(name, schema);
    return Object.assign(schema, this.#parse(part ?? '{}').schema);
  }
}

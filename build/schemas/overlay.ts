import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { compareReleases } from '../../src/manifests/manifest-set.ts';
import { FORMAT_RULES, type Json, sortKeys } from './convert-schema.ts';

/** One entry of overlay.yaml. */
interface Addition {
  /**
   * As `group Kind`, `apiVersion Kind`, `group *`, `type group.version.Type`, or the beginning of the name of a version
   * of Ignition.
   */
  readonly kinds: readonly string[];
  /** The path of the schema that it adds to, with [], {} and {key}, or several. */
  readonly at: string | readonly string[];
  /** The first release that has it. */
  readonly from?: string;
  /** The first release that does not have it any more. */
  readonly before?: string;
  /** Only for clusters with one of these feature sets. */
  readonly featureSets?: readonly string[];
  readonly must?: string;
  readonly cel?: string;
  /** An expression in CEL for the reason of a violation. Empty for none. */
  readonly cause?: string;
  /** Instead of it: reasons, each with a pattern of the value. The first one counts. */
  readonly causes?: Readonly<Record<string, string>>;
  /** The code of a violation of the rule in CEL that every reader accepts. */
  readonly code?: string;
  /** Fields that are not required. */
  readonly optional?: readonly string[];
  /** Keywords of JSON Schema. */
  readonly [keyword: string]: unknown;
}

interface Named {
  readonly apiVersion: string;
  readonly kind: string;
}

const ADDITIONS = parse(readFileSync(new URL('overlay.yaml', import.meta.url), 'utf8')) as readonly Addition[];
/** The specs of pods, which `pods` stands for, by their kinds. */
const PODS: Readonly<Record<string, string>> = {
  ' Pod': 'spec',
  ' PodTemplate': 'template.spec',
  ' ReplicationController': 'spec.template.spec',
  'apps DaemonSet': 'spec.template.spec',
  'apps Deployment': 'spec.template.spec',
  'apps ReplicaSet': 'spec.template.spec',
  'batch Job': 'spec.template.spec',
  'batch CronJob': 'spec.jobTemplate.spec.template.spec',
};
/** What the rules say that are no additions. */
const FORMATS: ReadonlySet<unknown> = new Set(Object.values(FORMAT_RULES).map(([must]) => must));
const STEP = /\[\]|\{key\}|\{\}|[^.[\]{}]+/g;
/** The additions and the paths that some schema has. */
const used = new Set<Addition | string>();

/** The schema of a kind with what overlay.yaml adds to it for a release and a feature set. */
export function addOverlay(named: Named, schema: Json, release: string, featureSet?: string): Json {
  const { apiVersion, kind } = named;
  const type = `${apiVersion.includes('/') ? apiVersion.split('/', 1)[0] : ''} ${kind}`;
  const matches = (pattern: string): boolean => {
    if (apiVersion.startsWith('internal/')) {
      const isMetadata = pattern === '*' && kind === 'Object';
      return isMetadata || apiVersion.startsWith(`internal/${pattern.replace(' *', '')}`);
    }
    return (
      pattern === '*' ||
      (pattern === 'pods' && type in PODS) ||
      pattern === type ||
      pattern === `${apiVersion} ${kind}` ||
      (pattern.endsWith(' *') && type.startsWith(pattern.slice(0, -1)))
    );
  };
  const pod = PODS[type];
  return addAll(
    schema,
    ({ kinds, from = release, before, featureSets }) => {
      const isNow =
        compareReleases(from, release) <= 0 && (before === undefined || compareReleases(release, before) < 0);
      const isEnabled = featureSets === undefined || featureSets.includes(featureSet ?? '');
      return isNow && isEnabled && kinds.some(matches);
    },
    pod,
  );
}

/** The schema of a type of Kubernetes in Go, such as `io.k8s.api.core.v1.Container`, with what overlay.yaml adds. */
export function addTypeOverlay(name: string, schema: Json): Json {
  return addAll(schema, ({ kinds }) =>
    kinds.some((pattern) => pattern.startsWith('type ') && name.endsWith(pattern.replace('type ', '.'))),
  );
}

function addAll(schema: Json, matches: (addition: Addition) => boolean, pod?: string): Json {
  let result = schema;
  for (const addition of ADDITIONS.filter(matches)) {
    const start = addition.kinds.includes('pods') ? `${pod}.` : '';
    for (const path of [addition.at].flat()) {
      const changed = addAt(result, `${start}${path}`.match(STEP) ?? [], addition);
      if (changed !== undefined) used.add(addition).add(path);
      result = changed ?? result;
    }
  }
  return result;
}

/** The schema without the rules in CEL of overlay.yaml. Other additions are the same if they are added twice. */
export function removeRules(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(removeRules);
  if (!isSchema(schema)) return schema;
  const entries = Object.entries(schema).map(([keyword, value]) => {
    if (keyword !== 'cel' || !Array.isArray(value)) return [keyword, removeRules(value)] as const;
    return [keyword, (value as readonly Json[]).filter(({ must }) => must === undefined || FORMATS.has(must))] as const;
  });
  return Object.fromEntries(entries.filter(([keyword, value]) => keyword !== 'cel' || !isEmptyList(value)));
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

/** @throws Error if an addition belongs to no schema, such as with a wrong path, or has a key without a value */
export function checkOverlay(): void {
  for (const addition of ADDITIONS) {
    const { kinds, at } = addition;
    // A comma in a text without quotes makes one.
    if (Object.values(addition).includes(null)) throw new Error(`overlay.yaml: a null at ${String(at)}`);
    const isUsed = used.has(addition) && [at].flat().every((path) => used.has(path));
    if (!isUsed) throw new Error(`overlay.yaml: no schema for ${kinds.join()} ${String(at)}`);
  }
}

/** Undefined if the schema has no such path. */
function addAt(schema: Json, [step, ...rest]: readonly string[], addition: Addition): Json | undefined {
  if (step === undefined) return add(schema, addition);
  if (step === '{key}') return sortKeys({ ...schema, propertyNames: add({}, addition) });
  if (step === '[]' || step === '{}') {
    const key = step === '[]' ? 'items' : 'additionalProperties';
    const inner = schema[key];
    const changed = isSchema(inner) ? addAt(inner, rest, addition) : undefined;
    return changed && { ...schema, [key]: changed };
  }
  const { properties } = schema;
  const inner = isSchema(properties) ? properties[step] : undefined;
  const changed = isSchema(inner) ? addAt(inner, rest, addition) : undefined;
  return changed && { ...schema, properties: { ...(properties as Json), [step]: changed } };
}

function add(schema: Json, addition: Addition): Json {
  const {
    kinds: _kinds,
    at: _at,
    from: _from,
    before: _before,
    featureSets: _featureSets,
    must,
    cel,
    causes,
    cause = causes && toExpression(causes),
    code,
    optional = [],
    ...keywords
  } = addition;
  const known = (schema['required'] ?? []) as readonly string[];
  const added = (keywords['required'] ?? []) as readonly string[];
  const required = [...new Set([...known, ...added])].filter((name) => !optional.includes(name));
  const texts = Object.keys(keywords).map((keyword) => [keyword, must] as const);
  const rule = cel === undefined ? [] : [{ rule: cel, must, ...(cause && { cause }), ...(code && { code }) }];
  return sortKeys({
    ...schema,
    ...keywords,
    ...((known.length > 0 || required.length > 0) && { required }),
    ...(must !== undefined &&
      texts.length > 0 && { must: { ...(schema['must'] as Json), ...Object.fromEntries(texts) } }),
    ...(rule.length > 0 && { cel: [...((schema['cel'] ?? []) as readonly unknown[]), ...rule] }),
  });
}

/** An expression in CEL for the first reason whose pattern the value matches. */
function toExpression(causes: NonNullable<Addition['causes']>): string {
  const entries = Object.entries(causes);
  return entries.reduceRight((rest, [reason, pattern]) => `self.test(r'${pattern}') ? '${reason}' : ${rest}`, "''");
}

function isSchema(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

import { parse } from 'yaml';
import { buildInstallation } from '../../src/install/installation.ts';
import { buildPolicy } from '../../src/install/policy.ts';
import { DASHBOARD, readDashboard, readFile } from '../docs/pages.ts';
import { formatFolded } from '../support/fold-yaml.ts';
import { COMMON_LABEL } from './mutation/mutants.ts';
import { listInstructions } from './relations/relation.ts';
import { RENDER_OPTIONS, type RenderedSet } from './rendered-sets.ts';

/** Of an object, or by the path of a field such as `spec.replicas`. */
type Fields = Readonly<Record<string, unknown>>;

const REMOVED = '(removed)';

/**
 * All sets, the dashboard and the Containerfile, as the text of the golden file. Each object appears whole once, and
 * then with its differences. Comments do not appear, nor the labels that every object has (relations/objects.ts), and
 * of a key or a certificate only what it is.
 */
export function formatRendered(sets: readonly RenderedSet[]): string {
  const shown = new Map<string, Fields>();
  const content: Record<string, unknown> = {};
  for (const set of sets) content[set.name] = describeSet(set, sets, shown);
  content['render --policy --tls=service-ca'] = listPolicyItems();
  content[DASHBOARD] = readDashboard();
  const generator = DASHBOARD.replace(/[^/]+$/, 'kustomization.yaml');
  content[generator] = parse(readFile(generator)) as unknown;
  content['Containerfile'] = listInstructions();
  return formatFolded(content);
}

/** @param shown the objects that earlier sets have shown whole */
function describeSet(set: RenderedSet, sets: readonly RenderedSet[], shown: Map<string, Fields>): Fields {
  const basis = sets.find(({ name }) => name === set.basis);
  const before = basis === undefined ? new Map<string, Fields>() : toFieldsByKey(basis);
  const described: Record<string, unknown> = {};
  for (const [key, fields] of toFieldsByKey(set)) {
    const [own, other] = [before.get(key), shown.get(key)];
    const changes = own && compare(own, fields);
    if (changes === undefined) described[key] = other ? { ...compare(other, fields), added: true } : fields;
    else if (Object.keys(changes).length > 0) described[key] = changes;
    before.delete(key);
    if (!shown.has(key)) shown.set(key, fields);
  }
  for (const key of before.keys()) described[key] = REMOVED;
  return { ...(basis !== undefined && { 'differs from': basis.name }), ...described };
}

/** The objects by kind and name. The name of their file counts as a field. */
function toFieldsByKey({ objects, files }: RenderedSet): Map<string, Fields> {
  return new Map(
    objects.map((object, index) => {
      const { apiVersion, kind, metadata, ...rest } = object;
      const { name, namespace, labels = {}, ...otherMetadata } = metadata;
      const key = `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
      const file = files[index];
      const own = Object.entries(labels).filter(([label]) => !COMMON_LABEL.test(label));
      const ownLabels = own.length > 0 && { labels: Object.fromEntries(own) };
      const fields = { ...(file && { file }), apiVersion, metadata: { ...otherMetadata, ...ownLabels }, ...rest };
      return [key, replacePem(fields) as Fields];
    }),
  );
}

/** Each run creates other keys. */
function replacePem(value: unknown): unknown {
  if (typeof value === 'string') {
    const kinds = Buffer.from(value, 'base64')
      .toString()
      .match(/(?<=-----BEGIN )[A-Z ]+/g);
    return kinds === null ? value : `(base64 of PEM: ${kinds.join(', ')})`;
  }
  if (Array.isArray(value)) return value.map(replacePem);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, replacePem(field)]));
}

/** The values after a change, by their path. */
function compare(before: unknown, after: unknown, path = ''): Fields {
  if (JSON.stringify(before) === JSON.stringify(after)) return {};
  if (!isObject(before) || !isObject(after)) return { [path]: after === undefined ? REMOVED : after };
  const differences: Record<string, unknown> = {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    // Of an overlay.
    if (key === 'file' && after[key] === undefined) continue;
    const step = /^[a-z]\w*$/i.test(key) ? `${path === '' ? '' : '.'}${key}` : `[${key}]`;
    Object.assign(differences, compare(before[key], after[key], path + step));
  }
  return differences;
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}

/** The items of the template. An object that `render` writes, too, is only named. */
function listPolicyItems(): readonly string[] {
  const options = { ...RENDER_OPTIONS, authority: undefined };
  const [{ content } = { content: '' }] = buildPolicy(options).files;
  let template = content;
  for (const singleNode of [false, true]) {
    for (const file of buildInstallation({ ...options, singleNode }).files) {
      const indented = file.content.replaceAll(/^(?=.)/gm, ' '.repeat(16));
      template = template.replace(indented, `${' '.repeat(16)}(${file.kind} ${file.objectName})\n`);
    }
  }
  return template
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/objectDefinition:\n +\(/g, 'objectDefinition: (')
    .trimEnd()
    .split('\n');
}

import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { stringify } from 'yaml';
import { KubeClient, type KubeClientOptions } from '../e2e/control-plane/kube-client.ts';

const MCO = '/apis/machineconfiguration.openshift.io/v1';
const CONFIGS = `${MCO}/machineconfigs`;
const POOLS = `${MCO}/machineconfigpools`;
const NODES = '/api/v1/nodes';
const CONFIG = 'rendered-contract-a';
const UNKNOWN_UID = '00000000-0000-4000-8000-000000000000';
const FOREIGN = { labels: { contract: 'a' } };

type Fields = Readonly<Record<string, unknown>>;

interface Step {
  /** What a test relies on. */
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: Fields;
  readonly accept?: string;
}

const toConfig = (name: string, metadata: Fields = {}) => ({
  apiVersion: 'machineconfiguration.openshift.io/v1',
  kind: 'MachineConfig',
  metadata: { name, ...metadata },
  spec: { kernelType: 'default' },
});

const toPool = (name: string) => ({
  apiVersion: 'machineconfiguration.openshift.io/v1',
  kind: 'MachineConfigPool',
  metadata: { name },
  spec: { paused: false, configuration: { name: CONFIG } },
});

const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';

/** Each step sees the effects of those before it. */
const STEPS: readonly Step[] = [
  { name: 'a version that is not served', method: 'GET', path: CONFIGS.replace('v1', 'v7') },
  { name: 'a resource that does not exist', method: 'GET', path: `${MCO}/machineconfigurations` },
  { name: 'a missing config', method: 'GET', path: `${CONFIGS}/${CONFIG}` },
  { name: 'a missing node', method: 'GET', path: `${NODES}/contract-a` },
  { name: 'an empty list of metadata', method: 'GET', path: CONFIGS, accept: METADATA_LIST },
  { name: 'a dry run of a creation', method: 'POST', path: `${CONFIGS}?dryRun=All`, body: toConfig(CONFIG) },
  { name: 'after the dry run', method: 'GET', path: `${CONFIGS}/${CONFIG}` },
  { name: 'a creation', method: 'POST', path: CONFIGS, body: toConfig(CONFIG, FOREIGN) },
  { name: 'a second creation', method: 'POST', path: CONFIGS, body: toConfig(CONFIG) },
  {
    name: 'a creation with another apiVersion',
    method: 'POST',
    path: CONFIGS,
    body: { ...toConfig('rendered-contract-b'), apiVersion: 'machineconfiguration.openshift.io/v7' },
  },
  { name: 'a config', method: 'GET', path: `${CONFIGS}/${CONFIG}` },
  { name: 'the metadata of a config', method: 'GET', path: `${CONFIGS}/${CONFIG}`, accept: METADATA },
  { name: 'a list of metadata', method: 'GET', path: CONFIGS, accept: METADATA_LIST },
  { name: 'a list of those with a label', method: 'GET', path: `${CONFIGS}?labelSelector=contract%3Da` },
  { name: 'a list of those without it', method: 'GET', path: `${CONFIGS}?labelSelector=%21contract` },
  { name: 'a list of one name', method: 'GET', path: `${CONFIGS}?fieldSelector=metadata.name%3D${CONFIG}` },
  { name: 'a patch of the content', method: 'PATCH', path: `${CONFIGS}/${CONFIG}`, body: { spec: { fips: true } } },
  {
    name: 'a patch that removes a label',
    method: 'PATCH',
    path: `${CONFIGS}/${CONFIG}`,
    body: { metadata: { labels: { contract: null } } },
  },
  {
    name: 'a patch of another version',
    method: 'PATCH',
    path: `${CONFIGS}/${CONFIG}`,
    body: { metadata: { resourceVersion: '1' }, spec: { fips: false } },
  },
  { name: 'a patch of a missing config', method: 'PATCH', path: `${CONFIGS}/rendered-contract-z`, body: {} },
  { name: 'a creation of a pool', method: 'POST', path: POOLS, body: toPool('contract') },
  {
    name: 'a patch of the status',
    method: 'PATCH',
    path: `${POOLS}/contract/status`,
    body: { spec: { paused: true }, status: { configuration: { name: CONFIG } } },
  },
  {
    name: 'a patch of the object that contains a status',
    method: 'PATCH',
    path: `${POOLS}/contract`,
    body: { spec: { paused: true }, status: { configuration: { name: 'other' } } },
  },
  { name: 'a dry run of a deletion', method: 'DELETE', path: `${CONFIGS}/${CONFIG}?dryRun=All` },
  { name: 'an unknown dry run', method: 'DELETE', path: `${CONFIGS}/${CONFIG}?dryRun=Some` },
  {
    name: 'a deletion of an object with another uid',
    method: 'DELETE',
    path: `${CONFIGS}/${CONFIG}`,
    body: { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid: UNKNOWN_UID } },
  },
  {
    name: 'a patch that adds a finalizer',
    method: 'PATCH',
    path: `${CONFIGS}/${CONFIG}`,
    body: { metadata: { finalizers: ['example.com/a'] } },
  },
  { name: 'a deletion of an object with a finalizer', method: 'DELETE', path: `${CONFIGS}/${CONFIG}` },
  { name: 'the object with a finalizer', method: 'GET', path: `${CONFIGS}/${CONFIG}` },
  {
    name: 'a patch that removes the last finalizer',
    method: 'PATCH',
    path: `${CONFIGS}/${CONFIG}`,
    body: { metadata: { finalizers: null } },
  },
  { name: 'after the last finalizer', method: 'GET', path: `${CONFIGS}/${CONFIG}` },
  { name: 'a deletion', method: 'DELETE', path: `${POOLS}/contract` },
  { name: 'a second deletion', method: 'DELETE', path: `${POOLS}/contract` },
];

/** Sends all steps to an API server without MachineConfigs. Returns its answers, and what a watch reports, as YAML. */
export async function recordTranscript(connection: KubeClientOptions): Promise<string> {
  const client = new KubeClient(connection);
  const start = (await client.request('GET', CONFIGS)).body as { readonly metadata: { resourceVersion: string } };
  const answers: Record<string, unknown> = {};
  for (const { name, method, path, body, accept } of STEPS) {
    const answer = await client.request(method, path, body, accept === undefined ? {} : { accept });
    answers[`${name} (${method} ${path})`] = { status: answer.status, body: summarize(answer.body) };
  }
  const query = `watch=1&resourceVersion=${start.metadata.resourceVersion}`;
  answers['a watch of the whole'] = await readWatch(connection, `${CONFIGS}?${query}`);
  const transcript = stringify(answers, { lineWidth: 0, aliasDuplicateObjects: false });
  return transcript.replaceAll(/\((?!0000)[0-9a-f]{8}-[0-9a-f-]{27}\)/g, '(uid)');
}

/** Keeps what every API server answers alike. */
function summarize(body: unknown): unknown {
  if (typeof body !== 'object' || body === null) return body;
  const { metadata, items, details: _details, ...rest } = sortKeys(body) as Fields;
  const summary = { ...rest, ...(metadata !== undefined && { metadata: summarizeMetadata(metadata as Fields) }) };
  if (items === undefined) return summary;
  return { ...summary, items: items === null ? null : (items as readonly unknown[]).map(summarize) };
}

const VARIABLE = new Set(['uid', 'resourceVersion', 'creationTimestamp', 'deletionTimestamp']);
/** Empty in the whole list. */
const ABSENT = new Set(['continue', 'managedFields']);

function summarizeMetadata(metadata: Fields): Fields {
  const isEmpty = (value: unknown) => JSON.stringify(value) === '{}';
  const kept = Object.entries(metadata).filter(([key, value]) => !ABSENT.has(key) && !isEmpty(value));
  return Object.fromEntries(kept.map(([key, value]) => [key, VARIABLE.has(key) ? `(${key})` : value] as const));
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, field]) => [key, sortKeys(field)]));
}

/** Reads the events until the first deletion. */
async function readWatch({ url, ca, token }: KubeClientOptions, path: string): Promise<unknown[]> {
  const headers = { accept: 'application/json', authorization: `Bearer ${token}` };
  const sent = request(new URL(path, url), { ca, headers, agent: false }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const events: unknown[] = [];
  let rest = '';
  for await (const chunk of response.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const { type, object } = JSON.parse(line) as { readonly type: string; readonly object: unknown };
      events.push({ type, object: summarize(object) });
    }
    if (lines.some((line) => line.includes('"type":"DELETED"'))) break;
  }
  return events;
}

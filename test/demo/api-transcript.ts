import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { parse } from 'yaml';
import { KubeClient, type KubeClientOptions } from '../e2e/control-plane/kube-client.ts';
import { formatFolded } from '../support/fold-yaml.ts';

const START = '/apis/machineconfiguration.openshift.io/v1/machineconfigs';

type Fields = Readonly<Record<string, unknown>>;

interface Step {
  /** What a test relies on. */
  readonly step: string;
  readonly request: {
    readonly method: string;
    /** With `watch=1`, the events since the first step are read until the first deletion. */
    readonly path: string;
    readonly body?: Fields;
    readonly accept?: string;
  };
}

const STEPS = parse(readFileSync(new URL('api-transcript.yaml', import.meta.url), 'utf8')) as readonly Step[];

/**
 * Sends the requests of api-transcript.yaml to an API server without MachineConfigs. Each sees the effects of those
 * before it. Returns the requests with the answers, as YAML.
 */
export async function recordTranscript(connection: KubeClientOptions): Promise<string> {
  const client = new KubeClient(connection);
  const start = (await client.request('GET', START)).body as { readonly metadata: { resourceVersion: string } };
  const transcript: object[] = [];
  for (const { step, request } of STEPS) {
    const { method, path, body, accept } = request;
    if (path.includes('watch=1')) {
      const events = await readWatch(connection, `${path}&resourceVersion=${start.metadata.resourceVersion}`);
      transcript.push({ step, request, events });
    } else {
      const answer = await client.request(method, path, body, accept === undefined ? {} : { accept });
      transcript.push({ step, request, status: answer.status, body: summarize(answer.body) });
    }
  }
  return formatFolded(transcript).replaceAll(/\((?!0000)[0-9a-f]{8}-[0-9a-f-]{27}\)/g, '(uid)');
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

import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type Schema, Validator } from '@cfworker/json-schema';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { INSTALLED_NAME } from '../../src/api/paths.ts';
import { toConfigName } from '../../src/mco/machine-config.ts';
import { createConfigOnDisk, toConfigOnDisk } from '../support/config-on-disk.ts';
import { register, stubWebhook } from '../support/stub-webhook.ts';
import {
  annotate,
  createConfig,
  GONE,
  type InspectedCluster,
  NEW,
  OLD,
  startHealthyCluster,
} from './inspected-cluster.ts';

interface ReportSchema {
  readonly type?: unknown;
  readonly optional?: readonly string[];
  readonly properties?: Readonly<Record<string, ReportSchema>>;
  readonly [keyword: string]: unknown;
}

const { $defs, ...SCHEMAS } = parse(readFileSync(new URL('reports.schema.yaml', import.meta.url), 'utf8')) as Readonly<
  Record<string, ReportSchema>
>;

/** Requires each property that is not optional, and forbids all others. */
function makeStrict(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(makeStrict);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, makeStrict(item)]);
  const { optional = [], properties } = value as ReportSchema;
  if (properties === undefined) return Object.fromEntries(entries) as unknown;
  const required = Object.keys(properties).filter((key) => !optional.includes(key));
  return { ...Object.fromEntries(entries), required, additionalProperties: false };
}

/** The names of all properties, at any depth. */
function listProperties(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  const { properties } = value as ReportSchema;
  const own = typeof properties === 'object' ? Object.keys(properties) : [];
  return [...own, ...Object.values(value).flatMap(listProperties)];
}

function listKeys(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  const own = Array.isArray(value) ? [] : Object.keys(value);
  return [...own, ...Object.values(value).flatMap(listKeys)];
}

/** A cluster with a guard, in which something is broken, and the file of the missing config. */
async function startBrokenCluster(): Promise<InspectedCluster & { readonly file: string }> {
  const inspected = await startHealthyCluster();
  const { cluster, kubeconfig } = inspected;
  annotate(cluster, 'worker-0', { desiredConfig: GONE, state: 'Degraded', reason: 'no config' });
  const annotations = { 'machineconfig-guard.io/paused-for-restore': GONE };
  cluster.patch('machineconfigpools', 'worker', { metadata: { annotations }, spec: { paused: true } });
  const spec = { signerName: 'kubernetes.io/kubelet-serving', username: 'system:node:worker-1' };
  cluster.create('certificatesigningrequests', { metadata: { name: 'csr-a' }, spec });

  register(cluster, await stubWebhook(() => ({ allowed: true })));
  const labels = { 'render.machineconfig-guard.io/profile': 'fail-closed' };
  const { webhooks } = cluster.get('validatingwebhookconfigurations', INSTALLED_NAME) as unknown as {
    readonly webhooks: readonly object[];
  };
  const selected = webhooks.map((webhook) => ({ ...webhook, objectSelector: { matchLabels: { a: 'b' } } }));
  cluster.patch('validatingwebhookconfigurations', INSTALLED_NAME, { metadata: { labels }, webhooks: selected });
  const conditions = [{ type: 'CertificatesValid', status: 'True', reason: 'Valid', message: 'until 2027' }];
  const lastDenial = { time: '2026-11-23T07:00:00Z', name: OLD, user: 'alice' };
  const status = { version: '0.1.0', conditions, lastDenial, protectedConfigs: 2, danglingCount: 1 };
  cluster.create('machineconfigguards', { metadata: { name: 'cluster' }, spec: { mode: 'Enforce' }, status });
  cluster.faults.intercept(({ path: requested }) => {
    const binding = { spec: { validationActions: ['Warn'] } };
    return requested.includes('/validatingadmissionpolicybindings/') ? { status: 200, body: binding } : 'pass';
  });

  const file = path.join(path.dirname(kubeconfig), 'config.json');
  writeFileSync(file, toConfigOnDisk('worker', createConfigOnDisk().spec, toConfigName(GONE)).text);
  return { ...inspected, file };
}

const LINES: readonly (readonly [string, readonly string[]])[] = [
  ['check', ['check']],
  ['restore', ['restore --from FILE', 'restore --from FILE --accept-content', 'restore --from OTHER']],
  ['who-uses', ['who-uses', `who-uses ${GONE} ${NEW} rendered-worker-none`]],
  ['verify', ['verify']],
  ['status', ['status']],
];

test.each(LINES)(
  'the JSON of %s has the declared keys and types, in a broken cluster and a healthy one',
  async (name, lines) => {
    const broken = await startBrokenCluster();
    const healthy = await startHealthyCluster();
    createConfig(healthy.cluster, GONE);
    const other = path.join(path.dirname(broken.file), 'other.json');
    writeFileSync(other, createConfigOnDisk('worker').text);
    const validator = new Validator(makeStrict({ $defs, ...SCHEMAS[name] }) as Schema, '2020-12', false);

    const reports: unknown[] = [];
    for (const { run } of [broken, healthy]) {
      for (const line of lines) {
        const words = line.replace('FILE', broken.file).replace('OTHER', other).split(' ');
        const report: unknown = JSON.parse((await run(...words, '-o', 'json')).stdout);
        const { errors } = validator.validate(report);
        expect(errors.map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`)).toEqual([]);
        reports.push(report);
      }
    }
    // Each part of the schema was needed.
    const keys = listKeys(reports);
    expect(listProperties(SCHEMAS[name]).filter((property) => !keys.includes(property))).toEqual([]);
  },
);

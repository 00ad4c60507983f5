import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { V1ClusterRole } from '@kubernetes/client-node';
import { type Schema, Validator } from '@cfworker/json-schema';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { INSTALLED_NAME } from '../../src/api/paths.ts';
import { buildManifests } from '../../src/install/kustomization.ts';
import { toConfigName } from '../../src/mco/machine-config.ts';
import { createTemporaryDirectory } from './temporary-directory.ts';
import { createConfigOnDisk, toConfigOnDisk } from '../support/config-on-disk.ts';
import { expandRule, toRight } from '../support/rights.ts';
import { register, stubWebhook } from '../support/stub-webhook.ts';
import {
  annotate,
  createNode,
  GONE,
  type InspectedCluster,
  NEW,
  OLD,
  startHealthyCluster,
} from './inspected-cluster.ts';
import { LABELS } from './uninstall/guarded-cluster.ts';

interface ReportSchema {
  readonly $ref?: string;
  readonly anyOf?: readonly ReportSchema[];
  readonly items?: ReportSchema;
  readonly optional?: readonly string[];
  readonly properties?: Readonly<Record<string, ReportSchema>>;
  readonly [keyword: string]: unknown;
}

const { $defs, ...SCHEMAS } = parse(readFileSync(new URL('reports.schema.yaml', import.meta.url), 'utf8')) as Readonly<
  Record<string, ReportSchema>
> & { readonly $defs: Readonly<Record<string, ReportSchema>> };

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

/** The paths of all properties, such as `pools.name`. */
function listProperties({ $ref, anyOf = [], items, properties = {} }: ReportSchema, start = ''): string[] {
  const others = [$defs[$ref?.split('/').at(-1) ?? ''], items, ...anyOf].filter((other) => other !== undefined);
  return [
    ...others.flatMap((other) => listProperties(other, start)),
    ...Object.entries(properties).flatMap(([key, each]) => [start + key, ...listProperties(each, `${start}${key}.`)]),
  ];
}

/** The paths of all values that are known, which are not null. */
function listKnown(value: unknown, start = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => listKnown(item, start));
  return Object.entries(value as object).flatMap(([key, item]: [string, unknown]) => {
    if (item === null) return [];
    return [start + key, ...(typeof item === 'object' ? listKnown(item, `${start}${key}.`) : [])];
  });
}

const ROLES = buildManifests(['base', 'overlays/restore-role', 'overlays/verify-role'])
  .map((manifest) => manifest.toJS() as V1ClusterRole)
  .filter(({ kind }) => kind === 'ClusterRole');

/** Without these, `check` and `restore` know less, and go on. */
const OPTIONAL_RIGHTS = /^(?:get (?:configmaps|machineconfigs\.)|list machineos)/;

/** The rights that these roles do not give, of all that the commands needed. */
function findMissingRights(roles: readonly string[], { cluster }: InspectedCluster): readonly string[] {
  const rules = ROLES.filter(({ metadata }) => roles.includes(metadata?.name ?? '')).flatMap(
    (role) => role.rules ?? [],
  );
  const granted = new Set(rules.flatMap((rule) => expandRule(rule)));
  const needed = cluster.faults.requests.flatMap(toRight).map((right) => right.replace(/ in .*/, ''));
  const isGranted = (right: string) => granted.has(right) || granted.has(right.replace(/\/[^/]*$/, ''));
  return needed.filter((right) => !isGranted(right) && !OPTIONAL_RIGHTS.test(right));
}

const NOW = new Date().toISOString();
const MISSPELLED = `${NEW.slice(0, -1)}0`;

type Clusters = readonly [InspectedCluster, InspectedCluster, InspectedCluster];

/** Clusters with a guard: one that protects, one that nothing reaches, and one whose webhook was changed. */
async function startClusters(): Promise<Clusters> {
  const clusters = await Promise.all([startHealthyCluster(), startHealthyCluster(), startHealthyCluster()]);
  const [healthy, unreachable, broken] = clusters;
  const status = { message: 'MCG_IN_USE: in use' };
  const clientConfig = await stubWebhook(({ request: { name } }) => ({ allowed: name !== NEW, status }));
  install(healthy, clientConfig);
  install(unreachable, { ...clientConfig, url: 'https://127.0.0.1:1/validate' });
  unreachable.cluster.faults.intercept(({ path: requested }) =>
    /\/(?:certificatesigningrequests|poddisruptionbudgets)$/.test(requested) ? { status: 403 } : 'pass',
  );
  annotate(unreachable.cluster, 'worker-0', { desiredDrain: `drain-${NEW}` });
  const expired = { type: 'CertificatesValid', status: 'False', reason: 'Expired', message: 'until 2026' };
  unreachable.cluster.create('machineconfigguards', {
    metadata: { name: 'cluster' },
    status: { conditions: [expired] },
  });
  install(broken, clientConfig);
  breakCluster(broken);
  return clusters;
}

function install({ cluster }: InspectedCluster, clientConfig: Parameters<typeof register>[1]): void {
  register(cluster, clientConfig);
  const labels = { ...LABELS, 'app.kubernetes.io/instance': 'x' };
  cluster.patch('validatingwebhookconfigurations', INSTALLED_NAME, { metadata: { labels } });
  cluster.create('alertingrules', { metadata: { name: INSTALLED_NAME, namespace: 'openshift-monitoring', labels } });
  const metadata = { name: INSTALLED_NAME, namespace: INSTALLED_NAME };
  cluster.create('deployments', { metadata, spec: { replicas: 2 }, status: { readyReplicas: 2 } });
  cluster.create('leases', {
    metadata,
    spec: { holderIdentity: 'pod', renewTime: NOW, leaseDurationSeconds: 137 },
  });
}

function breakCluster({ cluster }: InspectedCluster): void {
  annotate(cluster, 'worker-0', { desiredConfig: GONE, state: 'Degraded', reason: `missing MachineConfig ${GONE}` });
  cluster.patch('nodes', 'worker-0', { status: { conditions: [{ type: 'Ready', status: 'True' }] } });
  createNode(cluster, 'worker-1', { currentConfig: NEW, desiredConfig: MISSPELLED, state: 'Done' });
  createNode(cluster, 'worker-2', { currentConfig: NEW, desiredConfig: NEW, state: 'Degraded', reason: 'disk full' });
  const annotations = { 'machineconfig-guard.io/paused-for-restore': GONE };
  const managedFields = [{ manager: 'x', time: NOW, fieldsV1: { 'f:spec': { 'f:paused': {} } } }];
  cluster.patch('machineconfigpools', 'worker', { metadata: { annotations, managedFields }, spec: { paused: true } });
  cluster.patch('machineconfigs', NEW, { spec: { fips: true } });
  const request = { signerName: 'kubernetes.io/kubelet-serving', username: 'system:node:worker-1' };
  cluster.create('certificatesigningrequests', { metadata: { name: 'csr-a' }, spec: request });

  const labels = { 'render.machineconfig-guard.io/profile': 'fail-closed' };
  const { webhooks } = cluster.get('validatingwebhookconfigurations', INSTALLED_NAME) as unknown as {
    readonly webhooks: readonly object[];
  };
  const selected = webhooks.map((webhook) => ({ ...webhook, objectSelector: { matchLabels: { a: 'b' } } }));
  cluster.patch('validatingwebhookconfigurations', INSTALLED_NAME, { metadata: { labels }, webhooks: selected });
  const status = {
    version: '0.1.0',
    conditions: [{ type: 'CertificatesValid', status: 'True', reason: 'Valid', message: 'until 2027' }],
    lastDenial: { time: NOW, name: OLD, user: 'alice' },
    protectedConfigs: 2,
    danglingCount: 1,
    danglingReferences: [{ config: GONE, explanation: 'It was deleted' }],
    deletions: { [GONE]: { time: NOW, user: 'bob', reason: 'CHG-7' } },
    heldConfigs: [{ name: OLD, until: new Date(Date.now() + 3_600_000).toISOString() }],
  };
  cluster.create('machineconfigguards', { metadata: { name: 'cluster' }, spec: { mode: 'Enforce' }, status });
  cluster.faults.intercept(({ method, path: requested, query }) => {
    if (['DELETE', 'POST'].includes(method) && !query.has('dryRun')) return { status: 403 };
    const binding = { spec: { validationActions: ['Warn'] } };
    return requested.includes('/validatingadmissionpolicybindings/') ? { status: 200, body: binding } : 'pass';
  });
}

const READER = `${INSTALLED_NAME}-reader`;
/** Each command with its roles. For `uninstall`, there is none. */
const LINES: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  ['check', ['check'], [READER]],
  [
    'restore',
    [
      'restore --from FILE',
      'restore --from FILE --accept-content',
      'restore --from OTHER',
      'restore --from FILE --accept-content --confirm',
    ],
    [`${INSTALLED_NAME}-restore`],
  ],
  ['who-uses', ['who-uses', `who-uses ${GONE} ${NEW} ${MISSPELLED}`], [READER]],
  ['verify', ['verify'], [READER, `${INSTALLED_NAME}-verify`]],
  ['status', ['status'], [READER]],
  ['uninstall', ['uninstall', 'uninstall --confirm'], []],
];

test.each(LINES)(
  'the JSON of %s has the declared keys and types, in a healthy cluster and in broken ones, and its roles suffice',
  async (name, lines, roles) => {
    const clusters = await startClusters();
    const directory = createTemporaryDirectory();
    const file = path.join(directory, 'config.json');
    const other = path.join(directory, 'other.json');
    writeFileSync(file, toConfigOnDisk('worker', createConfigOnDisk().spec, toConfigName(GONE)).text);
    writeFileSync(other, createConfigOnDisk('worker').text);
    const validator = new Validator(makeStrict({ $defs, ...SCHEMAS[name] }) as Schema, '2020-12', false);

    const reports: unknown[] = [];
    for (const { run } of clusters) {
      for (const line of lines) {
        const words = line.replace('FILE', file).replace('OTHER', other).split(' ');
        const report: unknown = JSON.parse((await run(...words, '-o', 'json')).stdout);
        const { errors } = validator.validate(report);
        expect(errors.map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`)).toEqual([]);
        reports.push(report);
      }
    }
    for (const cluster of roles.length === 0 ? [] : clusters) expect(findMissingRights(roles, cluster)).toEqual([]);
    // Each part of the schema was needed, and each value was known once.
    const known = new Set(reports.flatMap((report) => listKnown(report)));
    expect(listProperties(SCHEMAS[name] ?? {}).filter((property) => !known.has(property))).toEqual([]);
  },
);

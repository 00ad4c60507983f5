import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import type { KubeObject } from '../../src/demo/cluster/in-memory-cluster.ts';
import { MODES } from '../../src/decision/settings.ts';
import { findNearestName } from '../../src/diagnosis/nearest-name.ts';
import { findAll, listFiles, readFile } from './pages.ts';

interface HubObject extends KubeObject {
  readonly kind: string;
  readonly placementRef?: { readonly name: string };
  readonly subjects?: readonly { readonly name: string }[];
}

test.for(findAll(listFiles('docs').join('\n'), /^(.*\.yaml)$/gm))('%s is YAML with valid modes', (file) => {
  expect(parseAllDocuments(readFile(file)).flatMap(({ errors }) => errors)).toEqual([]);
  expect(MODES).toEqual(expect.arrayContaining(findAll(readFile(file), / mode: '?(\w*)/g)));
});

test('check takes no config of docs/examples/worker-in-use.yaml for another one that is misspelled', () => {
  const all = findAll(readFile('docs/examples/worker-in-use.yaml'), /(rendered-worker-\w+)$/gm);
  const names = [...new Set(all)];
  expect(names).toHaveLength(3);
  const pairs = names.flatMap((name) => names.filter((other) => other !== name).map((other) => [name, other] as const));
  for (const [name, other] of pairs) expect(findNearestName(name, [other])).toBeUndefined();
});

const hub = parseAllDocuments(readFile('docs/fleet/policies.yaml')).map((document) => document.toJS() as HubObject);
const rendered = parse(readFile('manifests/policy.yaml')) as HubObject;

function findHubObjects(kind: string): readonly HubObject[] {
  return hub.filter((object) => object.kind === kind);
}

test('docs/fleet binds every Policy to clusters with the label mcguard', () => {
  const placements = findHubObjects('Placement');
  for (const { spec } of placements) expect(JSON.stringify(spec)).toMatch(/"mcguard":|"key":"mcguard"/);
  const bindings = findHubObjects('PlacementBinding');
  expect(bindings.map(({ placementRef }) => placementRef?.name)).toEqual(
    placements.map(({ metadata }) => metadata.name),
  );
  const bound = bindings.flatMap(({ subjects = [] }) => subjects.map(({ name }) => name));
  const policies = [rendered, ...findHubObjects('Policy')].map(({ metadata }) => metadata.name);
  expect(bound.toSorted()).toEqual(policies.toSorted());
  const [{ metadata: namespace } = { metadata: { name: '' } }] = findHubObjects('Namespace');
  const others = hub.filter(({ kind }) => kind !== 'Namespace');
  expect(new Set(others.map(({ metadata }) => metadata.namespace))).toEqual(new Set([namespace.name]));
});

test('the ClusterGroupUpgrade enforces the Policies in the order of their waves', () => {
  const upgrade = parse(readFile('docs/fleet/cluster-group-upgrade.yaml')) as {
    readonly spec: { readonly managedPolicies: readonly string[] };
  };
  const inWaves = [...findHubObjects('Policy'), rendered]
    .map(({ metadata }) => ({ name: metadata.name, wave: metadata.annotations?.['ran.openshift.io/ztp-deploy-wave'] }))
    .filter(({ wave }) => wave !== undefined)
    .toSorted((a, b) => Number(a.wave) - Number(b.wave));
  expect(upgrade.spec.managedPolicies).toEqual(inWaves.map(({ name }) => name));
});

test('the allowlist names metrics of docs/monitoring.md and of the alerts of the platform', () => {
  const { data } = parse(readFile('docs/fleet/metrics-allowlist.yaml')) as { data: Record<string, string> };
  const { matches } = parse(data['metrics_list.yaml'] ?? '') as { readonly matches: readonly string[] };
  const { names } = parse(data['uwl_metrics_list.yaml'] ?? '') as { readonly names: readonly string[] };
  const documented = findAll(readFile('docs/monitoring.md'), /^\| `(\w+)`/gm);
  expect(names.filter((name) => !documented.includes(name))).toEqual([]);
  const alerts = readFile('manifests/components/platform-alert/alerting-rule.yaml');
  const apiServerMetrics = new Set(findAll(alerts, /\b(apiserver_\w+)\{/g));
  const matched = findAll(matches.join('\n'), /__name__="(\w+)"/g);
  expect(matched).toEqual(expect.arrayContaining([...apiServerMetrics]));
  expect(findAll(matches.join('\n'), /,name="([^"]*)"/g)).toEqual(findAll(alerts, /name="(guard[^"]*)"/g).slice(0, 2));
});

import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import packageJson from '../../package.json' with { type: 'json' };
import { MODES } from '../../src/decision/settings.ts';
import { findNearestName } from '../../src/status/nearest-name.ts';
import { runProgram } from '../cli/run-program.ts';
import { findAll, listFiles, readFile } from './pages.ts';

interface PolicyGenerator {
  readonly policyDefaults: {
    readonly namespace: string;
    readonly placement: {
      readonly labelSelector: { readonly matchExpressions: readonly { readonly key: string }[] };
    };
  };
  readonly policies: readonly { readonly manifests: readonly { readonly path: string }[] }[];
}

interface HubObject {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

test.for(findAll(listFiles('docs').join('\n'), /^(.*\.yaml)$/gm))('%s is YAML with valid modes', (file) => {
  expect(parseAllDocuments(readFile(file)).flatMap(({ errors }) => errors)).toEqual([]);
  expect(MODES).toEqual(expect.arrayContaining(findAll(readFile(file), / mode: '(\w*)'/g)));
});

test('check takes no config of docs/examples/worker-in-use.yaml for another one that is misspelled', () => {
  const all = findAll(readFile('docs/examples/worker-in-use.yaml'), /(rendered-worker-\w+)$/gm);
  const names = [...new Set(all)];
  expect(names).toHaveLength(3);
  const pairs = names.flatMap((name) => names.filter((other) => other !== name).map((other) => [name, other] as const));
  for (const [name, other] of pairs) expect(findNearestName(name, [other])).toBeUndefined();
});

test('docs/fleet selects clusters of a bound set with the label of the Policies', () => {
  const { policyDefaults, policies } = parse(
    readFile('docs/fleet/policy-install/policy-generator.yaml'),
  ) as PolicyGenerator;
  const { namespace, placement } = policyDefaults;
  const hub = parseAllDocuments(readFile('docs/fleet/policy-install/hub.yaml')).map(
    (document) => document.toJS() as HubObject,
  );
  expect(hub.map(({ kind, metadata }) => [kind, metadata.namespace ?? metadata.name])).toEqual([
    ['Namespace', namespace],
    ['ManagedClusterSetBinding', namespace],
  ]);
  const modePolicy = readFile('docs/fleet/policy-mode.yaml');
  for (const { key } of placement.labelSelector.matchExpressions) expect(modePolicy).toContain(` ${key}: enforce`);
  const files = policies.flatMap(({ manifests }) => manifests.map(({ path }) => path));
  for (const file of files)
    expect(listFiles('docs/fleet/policy-install')).toContain(`docs/fleet/policy-install/${file}/kustomization.yaml`);
});

test('remote bases name this version', () => {
  const pages = findAll(listFiles('docs').join('\n'), /^(.*\.(?:md|yaml))$/gm);
  const versions = pages.flatMap((page) => findAll(readFile(page), /github\.com\/\S+\/manifests\/[^\s?]+(\S*)/g));
  expect(versions.length).toBeGreaterThan(5);
  expect(new Set(versions)).toEqual(new Set([`?ref=v${packageJson.version}`]));
});

test('docs/install.md names flags that render has, and every overlay', async () => {
  const names = findAll(readFile('docs/install.md'), /^\| `([a-z-]+)/gm);
  const { stdout } = await runProgram(['render', '--help']);
  const flags = names.filter((name) => name.startsWith('--'));
  expect(flags.length).toBeGreaterThan(5);
  expect(flags.filter((flag) => !stdout.includes(`${flag} `))).toEqual([]);
  const overlays = findAll(listFiles('manifests/overlays').join('\n'), /^manifests\/overlays\/([^/\n]+)$/gm);
  expect(names.filter((name) => !name.startsWith('--')).toSorted()).toEqual(overlays.toSorted());
});

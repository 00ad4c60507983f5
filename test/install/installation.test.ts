import { gzipSync } from 'node:zlib';
import { parse, parseAllDocuments, parseDocument } from 'yaml';
import { expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { buildInstallation, type InstallationOptions, isOwnFile } from '../../src/install/installation.ts';
import { needsRunningCluster, PROFILES } from '../../src/install/profiles.ts';
import { ADMISSION_POLICIES } from '../../src/install/webhook-configuration.ts';
import { ALL_OPTIONS, DEFAULT_OPTIONS, OTHER_SETS } from './installation-options.ts';
import { readField } from './read-field.ts';

/** The API server serves these before any operator runs. The set contains our own CRD. */
const API_OF_AN_EMPTY_CLUSTER = /^(?:(?:apps|policy|[\w.]+\.k8s\.io)\/)?v1$|^machineconfig-guard\.io\//;

const LABELS = Object.fromEntries([
  ...['name', 'part-of', 'managed-by'].map((key) => [`app.kubernetes.io/${key}`, 'machineconfig-guard']),
  ['app.kubernetes.io/version', packageJson.version],
]) as Readonly<Record<string, string>>;

const KEY_START = Buffer.from('-----BEGIN PRIVATE').toString('base64').slice(0, 20);
const SETS = [...ALL_OPTIONS, ...OTHER_SETS].map((options) => ({ ...options, ...buildInstallation(options) }));

test('a set has less than 32 KiB gzipped, and YAML 1.1 and 1.2 parse each labeled file alike', () => {
  const sizes = SETS.map(({ files }) => gzipSync(files.map(({ content }) => content).join('')).length);
  expect(Math.max(...sizes)).toBeLessThan(32 * 1024);
  // Most files are the same in most sets.
  for (const content of new Set(SETS.flatMap(({ files }) => files.map((file) => file.content)))) {
    expect(parseAllDocuments(content)).toHaveLength(1);
    expect(parseDocument(content, { version: '1.1' }).errors).toEqual([]);
    expect(parse(content, { version: '1.1' })).toEqual(parse(content, { version: '1.2' }));
    // `uninstall` looks for them.
    expect(parse(content)).toHaveProperty('metadata.labels', expect.objectContaining(LABELS));
    expect(content.match(/#.*(?:\.\.\/|\.(?:md|ts|yaml)\b)/g)).toBeNull();
  }
});

test('files sort objects after those that they need, and only some profiles need a running cluster', () => {
  for (const { files, profile, failurePolicy } of SETS) {
    const names = files.map(({ name }) => name);
    const owners = PROFILES.filter((candidate) => names.some((name) => isOwnFile(name, candidate)));
    expect(owners).toEqual(failurePolicy === null ? [profile] : ['fail-closed', 'fail-open-with-floor']);
    expect(names.filter((name) => !isOwnFile(name, profile))).toEqual([]);
    expect([...new Set(names)].toSorted()).toEqual(names);
    const versions = files.map(({ content }) => /^apiVersion: (.*)$/m.exec(content)?.[1] ?? '');
    const isForAny = versions.every((version) => API_OF_AN_EMPTY_CLUSTER.test(version));
    expect([profile, isForAny]).toEqual([profile, !needsRunningCluster(profile)]);
    const filesWithKey = files.filter(({ content }) => content.includes(KEY_START));
    expect(filesWithKey.every(({ kind }) => kind === 'Secret')).toBe(true);
    expect(files.filter(({ isPrivate }) => isPrivate)).toEqual(filesWithKey);
    if (failurePolicy === null) continue;
    const kinds = files.map(({ kind }) => kind);
    expect(kinds[0]).toBe('Namespace');
    expect(kinds.indexOf('ValidatingWebhookConfiguration')).toBeGreaterThan(kinds.indexOf('Deployment'));
  }
});

/** Builds a set and returns a function that finds its object of a kind. */
function build(changes: Partial<InstallationOptions> = {}): (kind: string) => unknown {
  const { files } = buildInstallation({ ...DEFAULT_OPTIONS, ...changes });
  return (kind) => {
    const file = files.find((candidate) => candidate.kind === kind);
    return file === undefined ? undefined : parse(file.content);
  };
}

test.each([
  [{}, [], ["'Enforce'", "''"]],
  [{ mode: 'Audit' }, ['--initial-mode=Audit'], ["'Audit'", "''"]],
  [{ hold: '24h' }, ['--initial-hold=24h'], ["'Enforce'", "'24h'"]],
] as const)('with %j, the guard has %j and the policy allows only these settings', (changes, flags, values) => {
  const findObject = build(changes);
  // `oc apply` could not find the kind in a stream that contains its CRD, and an upgrade would reset the mode.
  expect(findObject('MachineConfigGuard')).toBeUndefined();
  const args = readField(findObject('Deployment'), 'spec.template.spec.containers.0.args') as string[];
  expect(args.filter((arg) => arg.startsWith('--initial-'))).toEqual(flags);
  const variables = values.map((expression) => expect.objectContaining({ expression }) as object);
  expect(findObject('ValidatingAdmissionPolicy')).toMatchObject({ spec: { variables } });
});

test('a rollout on a single node keeps the old pod until the new one is ready, except on the host network', () => {
  const findStrategy = (hostNetwork: boolean) =>
    readField(build({ singleNode: true, hostNetwork })('Deployment'), 'spec.strategy.rollingUpdate');
  expect(findStrategy(false)).toEqual({ maxUnavailable: 0, maxSurge: 1 });
  expect(findStrategy(true)).toEqual({ maxUnavailable: 1, maxSurge: 0 });
});

const FLOW_SCHEMA = 'FlowSchema';
const POLICY = 'ValidatingAdmissionPolicy';

test.each([
  [undefined, 'fail-closed', 'Fail', [FLOW_SCHEMA, POLICY], /^$/],
  [27, 'fail-closed', 'Ignore', [FLOW_SCHEMA, POLICY], /no policy floor/],
  [28, 'fail-closed', 'Fail', [FLOW_SCHEMA, POLICY], /^$/],
  [29, 'fail-closed', 'Fail', [POLICY], /^$/],
  [30, 'fail-closed', 'Fail', [], /^$/],
  [30, 'fail-open-with-floor', 'Ignore', [], /^$/],
] as const)('with Kubernetes %j, %s has the failure policy %s and lacks %j', (...row) => {
  const [kubernetesVersion, profile, failurePolicy, missingKinds, warning] = row;
  const { files, ...result } = buildInstallation({ ...DEFAULT_OPTIONS, kubernetesVersion, profile });
  const isAbout = (kind: string): unknown => expect.stringMatching(new RegExp(`^${kind}\\b`));
  expect(result).toMatchObject({ failurePolicy, omittedObjects: missingKinds.map(isAbout) });
  expect(result.warnings.join()).toMatch(warning);
  for (const kind of [FLOW_SCHEMA, POLICY, `${POLICY}Binding`])
    expect(files.some((file) => file.kind === kind)).toBe(!missingKinds.some((missing) => kind.startsWith(missing)));
  const webhook = files.find(({ kind }) => kind === 'ValidatingWebhookConfiguration');
  expect(parse(webhook?.content ?? '')).toMatchObject({ webhooks: [{ failurePolicy }] });
  const floor = files.filter(({ objectName }) => Object.values(ADMISSION_POLICIES).includes(objectName));
  expect(floor).toHaveLength(profile === 'fail-closed' ? 0 : 4);
});

type Rules = readonly Readonly<Record<'resources' | 'verbs', readonly string[]>>[];

test('the FlowSchema covers the reads that the roles of the guard allow, and nothing else', () => {
  const { files } = buildInstallation(DEFAULT_OPTIONS);
  const listReads = (rules: Rules): string[] =>
    rules.flatMap(({ resources, verbs }) =>
      verbs
        .filter((verb) => ['get', 'list', 'watch'].includes(verb))
        .flatMap((verb) => resources.map((resource) => `${verb} ${resource}`)),
    );
  const roles = files.filter(
    ({ kind, objectName }) => kind.endsWith('Role') && !/-(?:reader|view|events)$/.test(objectName),
  );
  const allowed = roles.flatMap(({ content }) => readField(parse(content), 'rules') as Rules);
  const covered = readField(build()('FlowSchema'), 'spec.rules.0.resourceRules') as Rules;
  expect(listReads(covered).sort()).toEqual(listReads(allowed).sort());
});

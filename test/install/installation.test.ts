import { gzipSync } from 'node:zlib';
import { parse, parseAllDocuments, parseDocument } from 'yaml';
import { describe, expect, test } from 'vitest';
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

describe('with any options', () => {
  const sets = [...ALL_OPTIONS, ...OTHER_SETS].map((options) => ({ ...options, ...buildInstallation(options) }));
  /** Most files are the same in most sets. */
  const contents = new Set(sets.flatMap(({ files }) => files.map(({ content }) => content)));

  test('a set has less than 32 KiB gzipped, and YAML 1.1 and 1.2 parse each file alike', () => {
    const sizes = sets.map(({ files }) => gzipSync(files.map(({ content }) => content).join('')).length);
    expect(Math.max(...sizes)).toBeLessThan(32 * 1024);
    for (const content of contents) {
      expect(parseAllDocuments(content)).toHaveLength(1);
      expect(parseDocument(content, { version: '1.1' }).errors).toEqual([]);
      expect(parse(content, { version: '1.1' })).toEqual(parse(content, { version: '1.2' }));
    }
  });

  test('the set contains no kind that a booting cluster lacks, unless it is for running clusters only', () => {
    for (const { profile, files } of sets) {
      const versions = files.map(({ content }) => /^apiVersion: (.*)$/m.exec(content)?.[1] ?? '');
      const isForAny = versions.every((version) => API_OF_AN_EMPTY_CLUSTER.test(version));
      expect([profile, isForAny]).toEqual([profile, !needsRunningCluster(profile)]);
    }
  });

  test('every object has the labels that uninstall looks for, and no comment names a file of the repository', () => {
    for (const content of contents) {
      expect(parse(content)).toHaveProperty('metadata.labels', expect.objectContaining(LABELS));
      expect(content.match(/#.*(?:\.\.\/|\.(?:md|ts|yaml)\b)/g)).toBeNull();
    }
  });

  test('file names are unique and sort the objects after those that they need', () => {
    for (const { files, profile, failurePolicy } of sets) {
      const names = files.map(({ name }) => name);
      const owners = PROFILES.filter((candidate) => names.some((name) => isOwnFile(name, candidate)));
      expect(owners).toEqual(failurePolicy === null ? [profile] : ['fail-closed', 'fail-open-with-floor']);
      expect(names.filter((name) => !isOwnFile(name, profile))).toEqual([]);
      expect(new Set(names).size).toBe(names.length);
      expect(names.toSorted()).toEqual(names);
      if (failurePolicy === null) continue;
      const kinds = files.map(({ kind }) => kind);
      expect(kinds[0]).toBe('Namespace');
      expect(kinds.indexOf('ValidatingWebhookConfiguration')).toBeGreaterThan(kinds.indexOf('Deployment'));
    }
  });

  test('only the file of the Secret contains a private key, and only it is secret', () => {
    const keyStart = Buffer.from('-----BEGIN PRIVATE').toString('base64').slice(0, 20);
    for (const { files } of sets) {
      const filesWithKey = files.filter(({ content }) => content.includes(keyStart));
      expect(filesWithKey.every(({ kind }) => kind === 'Secret')).toBe(true);
      expect(files.filter(({ isPrivate }) => isPrivate)).toEqual(filesWithKey);
    }
  });
});

/** Builds a set and returns a function that finds its object of a kind. */
function build(changes: Partial<InstallationOptions> = {}): (kind: string) => unknown {
  const { files } = buildInstallation({ ...DEFAULT_OPTIONS, ...changes });
  return (kind) => {
    const file = files.find((candidate) => candidate.kind === kind);
    return file === undefined ? undefined : parse(file.content);
  };
}

test('with an authority, the Secret, the caBundle and the flag belong together', () => {
  const findObject = build();
  const caBundle = Buffer.from(DEFAULT_OPTIONS.authority.certificatePem).toString('base64');
  const webhooks = [{ clientConfig: { caBundle } }];
  expect(findObject('ValidatingWebhookConfiguration')).toMatchObject({ webhooks });
  expect(findObject('Secret')).toMatchObject({
    metadata: { name: 'machineconfig-guard-ca', namespace: 'machineconfig-guard' },
    type: 'Opaque',
    data: { 'ca.crt': caBundle },
  });
  const args = expect.arrayContaining(['--tls-secret=machineconfig-guard/machineconfig-guard-ca']) as string[];
  const containers = [{ args, image: DEFAULT_OPTIONS.image }];
  expect(findObject('Deployment')).toMatchObject({ spec: { template: { spec: { containers } } } });
});

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

test.each([
  ['reference-policy', undefined, /the profile reference-policy needs Kubernetes 1\.30 \(OpenShift 4\.17\); set --/],
  ['fail-open-with-floor', 29, /use fail-closed/],
] as const)('rejects the profile %s on Kubernetes %j', (profile, kubernetesVersion, message) => {
  const buildWithPolicies = () => build({ profile, kubernetesVersion });
  expect(buildWithPolicies).toThrow(RangeError);
  expect(buildWithPolicies).toThrow(message);
});

test.each([
  [27, 'fail-closed', 0, /no policy floor/],
  [30, 'fail-open-with-floor', 4, /^$/],
] as const)(
  'on Kubernetes 1.%i, %s fails open with %i objects of the floor',
  (kubernetesVersion, profile, count, warning) => {
    const { files, failurePolicy, warnings } = buildInstallation({ ...DEFAULT_OPTIONS, profile, kubernetesVersion });
    const floor = files.filter(({ objectName }) => Object.values(ADMISSION_POLICIES).includes(objectName));
    expect([failurePolicy, floor.length, warnings.join()]).toEqual(['Ignore', count, expect.stringMatching(warning)]);
  },
);

test.each([
  [undefined, 'Fail', ['FlowSchema', 'ValidatingAdmissionPolicy']],
  [27, 'Ignore', ['FlowSchema', 'ValidatingAdmissionPolicy']],
  [28, 'Fail', ['FlowSchema', 'ValidatingAdmissionPolicy']],
  [29, 'Fail', ['ValidatingAdmissionPolicy']],
  [30, 'Fail', []],
])('with Kubernetes %j, the failure policy is %s and the set lacks %j', (kubernetesVersion, policy, missingKinds) => {
  const { files, omittedObjects, failurePolicy } = buildInstallation({ ...DEFAULT_OPTIONS, kubernetesVersion });
  const newerKinds = ['FlowSchema', 'ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'];
  const omitted = newerKinds.filter((kind) => missingKinds.some((missing) => kind.startsWith(missing)));
  expect(newerKinds.filter((kind) => !files.some((file) => file.kind === kind))).toEqual(omitted);
  const isAbout = (kind: string): unknown => expect.stringMatching(new RegExp(`^${kind}\\b`));
  expect(omittedObjects).toEqual(missingKinds.map(isAbout));
  expect(failurePolicy).toBe(policy);
  const webhook = files.find(({ kind }) => kind === 'ValidatingWebhookConfiguration');
  expect(parse(webhook?.content ?? '')).toMatchObject({ webhooks: [{ failurePolicy: policy }] });
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

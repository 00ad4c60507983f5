import { gzipSync } from 'node:zlib';
import { parse, parseAllDocuments, parseDocument } from 'yaml';
import { describe, expect, test } from 'vitest';
import {
  buildInstallation,
  type InstallationOptions,
  InvalidInstallation,
  OWN_FILE_NAME,
} from '../../src/install/installation.ts';
import { ALL_OPTIONS, DEFAULT_OPTIONS } from './installation-options.ts';

/** The kinds that an API server serves before any operator runs, and our own kind, whose CRD is in the set. */
const KINDS_OF_AN_EMPTY_CLUSTER = (
  'Namespace CustomResourceDefinition ServiceAccount ClusterRole ClusterRoleBinding Role RoleBinding Secret Service ' +
  'Deployment PodDisruptionBudget NetworkPolicy FlowSchema ValidatingAdmissionPolicy ' +
  'ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration MachineConfigGuard'
).split(' ');

describe('with any options', () => {
  const sets = ALL_OPTIONS.map((options) => buildInstallation(options).files);

  test('each file has one object that YAML 1.1 and 1.2 parse alike', () => {
    expect(sets).toHaveLength(32);
    for (const { content } of sets.flat()) {
      expect(parseAllDocuments(content)).toHaveLength(1);
      expect(parseDocument(content, { version: '1.1' }).errors).toEqual([]);
      const object: unknown = parse(content, { version: '1.2' });
      expect(parse(content, { version: '1.1' })).toEqual(object);
      expect(object).toMatchObject({ apiVersion: expect.any(String), kind: expect.any(String) });
    }
  });

  test('the set has less than 32 KiB gzipped', () => {
    const sizes = sets.map((files) => gzipSync(files.map(({ content }) => content).join('')).length);
    expect(Math.max(...sizes)).toBeLessThan(32 * 1024);
  });

  test('the set contains no kind that a booting cluster lacks and no input of the Machine Config Operator', () => {
    expect(KINDS_OF_AN_EMPTY_CLUSTER).toEqual(expect.arrayContaining(sets.flat().map(({ kind }) => kind)));
    const versions = new Set(sets.flat().map(({ content }) => (parse(content) as { apiVersion: string }).apiVersion));
    expect([...versions].filter((version) => version.includes('openshift.io'))).toEqual([]);
    expect(versions).toContain('apps/v1');
  });

  test('file names are unique and sort the objects after those that they need', () => {
    for (const files of sets) {
      const names = files.map(({ name }) => name);
      for (const name of names) expect(name).toMatch(OWN_FILE_NAME);
      expect(new Set(names).size).toBe(names.length);
      expect(names.toSorted()).toEqual(names);
      const kinds = files.map(({ kind }) => kind);
      expect(kinds[0]).toBe('Namespace');
      expect(kinds.indexOf('ValidatingWebhookConfiguration')).toBeGreaterThan(kinds.indexOf('Deployment'));
    }
  });

  test('only the file of the Secret contains a private key, and only it is secret', () => {
    const keyStart = Buffer.from('-----BEGIN PRIVATE').toString('base64').slice(0, 20);
    for (const files of sets) {
      const filesWithKey = files.filter(({ content }) => content.includes(keyStart));
      expect(filesWithKey.every(({ kind }) => kind === 'Secret')).toBe(true);
      expect(files.filter(({ secret }) => secret)).toEqual(filesWithKey);
    }
    expect(sets.flat().some(({ secret }) => secret)).toBe(true);
  });

  test('a second run builds the same set', () => {
    for (const [index, options] of ALL_OPTIONS.entries()) expect(buildInstallation(options).files).toEqual(sets[index]);
  });
});

interface AnyObject {
  readonly metadata: { readonly annotations?: Record<string, string>; readonly labels?: Record<string, string> };
  readonly spec: { readonly replicas: number; readonly template: PodTemplate };
  readonly webhooks: readonly {
    readonly failurePolicy: string;
    readonly clientConfig: { readonly caBundle?: string };
  }[];
}

interface PodTemplate {
  readonly metadata: { readonly annotations: Record<string, string> };
  readonly spec: { readonly hostNetwork?: boolean; readonly containers: readonly Container[] };
}

interface Container {
  readonly image: string;
  readonly args: readonly string[];
  readonly ports: readonly { readonly containerPort: number }[];
}

/** Builds a set and returns a function that finds its object of a kind. */
function build(changes: Partial<InstallationOptions> = {}): (kind: string) => AnyObject | undefined {
  const { files } = buildInstallation({ ...DEFAULT_OPTIONS, ...changes });
  return (kind) => {
    const file = files.find((candidate) => candidate.kind === kind);
    return file === undefined ? undefined : (parse(file.content) as AnyObject);
  };
}

function containerOf(findObject: ReturnType<typeof build>): Container | undefined {
  return findObject('Deployment')?.spec.template.spec.containers[0];
}

test('with an authority, the Secret, the caBundle and the flag belong together', () => {
  const findObject = build();
  const caBundle = findObject('ValidatingWebhookConfiguration')?.webhooks[0]?.clientConfig.caBundle;
  expect(Buffer.from(caBundle ?? '', 'base64').toString()).toBe(DEFAULT_OPTIONS.authority.certificatePem);
  expect(findObject('Secret')).toMatchObject({
    metadata: { name: 'machineconfig-guard-ca', namespace: 'machineconfig-guard' },
    type: 'Opaque',
    data: { 'ca.crt': caBundle },
  });
  expect(containerOf(findObject)?.args).toContain('--tls-secret=machineconfig-guard/machineconfig-guard-ca');
});

test('without an authority, the service CA issues the certificate and injects the caBundle', () => {
  const findObject = build({ authority: undefined });
  expect(findObject('Secret')).toBeUndefined();
  const { metadata, webhooks } = findObject('ValidatingWebhookConfiguration') ?? {};
  expect(webhooks?.[0]?.clientConfig).not.toHaveProperty('caBundle');
  expect(metadata?.annotations).toEqual({ 'service.beta.openshift.io/inject-cabundle': 'true' });
  expect(containerOf(findObject)?.args).toContain('--tls-cert-file=/etc/machineconfig-guard/tls/tls.crt');
});

test('the Deployment has the image of the options', () => {
  expect(containerOf(build())?.image).toBe(DEFAULT_OPTIONS.image);
});

test('the set contains a MachineConfigGuard only with a mode, because a re-apply would reset it', () => {
  expect(build()('MachineConfigGuard')).toBeUndefined();
  expect(build({ mode: 'Disabled' })('MachineConfigGuard')?.spec).toEqual({ mode: 'Disabled' });
});

test('with singleNode, there is one replica without anti-affinity', () => {
  const { spec } = build({ singleNode: true })('Deployment') ?? {};
  expect(spec?.replicas).toBe(1);
  expect(spec?.template.spec).not.toHaveProperty('affinity');
});

test('with hostNetwork, the pod has its ports, its SCC and its namespace level', () => {
  const findObject = build({ hostNetwork: true });
  const template = findObject('Deployment')?.spec.template;
  expect(template?.spec.hostNetwork).toBe(true);
  expect(template?.metadata.annotations['openshift.io/required-scc']).toBe('hostnetwork-v2');
  const { ports, args } = containerOf(findObject) ?? {};
  expect(ports?.map(({ containerPort }) => containerPort)).toEqual([9843, 9844, 9845]);
  const flags = ['--secure-port=9843', '--health-port=9844', '--metrics-port=9845'];
  expect(args).toEqual(expect.arrayContaining(flags));
  expect(findObject('Namespace')?.metadata.labels?.['pod-security.kubernetes.io/enforce']).toBe('privileged');
});

test.each([
  ['fail-closed', 'Fail', false],
  ['fail-open-with-floor', 'Ignore', true],
] as const)('the profile %s has failurePolicy %s and policies: %s', (profile, failurePolicy, hasPolicies) => {
  const findObject = build({ profile });
  expect(findObject('ValidatingWebhookConfiguration')?.webhooks[0]?.failurePolicy).toBe(failurePolicy);
  expect(findObject('ValidatingAdmissionPolicy') !== undefined).toBe(hasPolicies);
  expect(findObject('ValidatingAdmissionPolicyBinding') !== undefined).toBe(hasPolicies);
});

test.each([
  [undefined, /--kubernetes-version/],
  [{ major: 1, minor: 29 }, /use fail-closed/],
])('rejects the profile fail-open-with-floor on Kubernetes %j', (kubernetesVersion, message) => {
  const buildFailOpen = () => build({ profile: 'fail-open-with-floor', kubernetesVersion });
  expect(buildFailOpen).toThrow(InvalidInstallation);
  expect(buildFailOpen).toThrow(message);
});

test.each([
  [undefined, false],
  [{ major: 1, minor: 28 }, false],
  [{ major: 1, minor: 29 }, true],
])('with Kubernetes %j, the set contains a FlowSchema: %s', (kubernetesVersion, hasFlowSchema) => {
  const { files, leftOut } = buildInstallation({ ...DEFAULT_OPTIONS, kubernetesVersion });
  expect(files.some(({ kind }) => kind === 'FlowSchema')).toBe(hasFlowSchema);
  expect(leftOut).toEqual(hasFlowSchema ? [] : [expect.stringContaining('FlowSchema')]);
});

import { parse } from 'yaml';
import { expect, test } from 'vitest';
import { InvalidInstallation, buildInstallation, type InstallationOptions } from '../../src/install/installation.ts';
import { PLAIN } from './options.ts';

interface AnyObject {
  readonly metadata: { readonly annotations?: Record<string, string>; readonly labels?: Record<string, string> };
  readonly spec: {
    readonly replicas: number;
    readonly mode: string;
    readonly template: { readonly metadata: { annotations: Record<string, string> }; readonly spec: PodSpec };
  };
  readonly webhooks: readonly {
    readonly failurePolicy: string;
    readonly clientConfig: { readonly caBundle?: string };
  }[];
}

interface PodSpec {
  readonly affinity?: object;
  readonly hostNetwork?: boolean;
  readonly containers: readonly {
    readonly image: string;
    readonly args: readonly string[];
    readonly ports: readonly { readonly containerPort: number }[];
  }[];
}

function objects(changes: Partial<InstallationOptions>): (kind: string) => AnyObject | undefined {
  const { files } = buildInstallation({ ...PLAIN, ...changes });
  return (kind) => {
    const file = files.find((one) => one.kind === kind);
    return file === undefined ? undefined : (parse(file.content) as AnyObject);
  };
}

function guardArgs(changes: Partial<InstallationOptions>): readonly string[] | undefined {
  return objects(changes)('Deployment')?.spec.template.spec.containers[0]?.args;
}

test('generated certificates: the Secret, the bundle and the flag belong together', () => {
  const of = objects({});
  const ca = of('ValidatingWebhookConfiguration')?.webhooks[0]?.clientConfig.caBundle;
  expect(Buffer.from(ca ?? '', 'base64').toString()).toBe(PLAIN.authority?.certificatePem);
  expect(of('Secret')).toMatchObject({
    metadata: { name: 'machineconfig-guard-ca', namespace: 'machineconfig-guard' },
    type: 'Opaque',
    data: { 'ca.crt': ca },
  });
  expect(guardArgs({})).toContain('--tls-secret=machineconfig-guard/machineconfig-guard-ca');
});

test("the service CA's certificates: no Secret, no bundle, but both asked for", () => {
  const of = objects({ authority: undefined });
  expect(of('Secret')).toBeUndefined();
  expect(of('ValidatingWebhookConfiguration')?.webhooks[0]?.clientConfig).not.toHaveProperty('caBundle');
  expect(of('ValidatingWebhookConfiguration')?.metadata.annotations).toEqual({
    'service.beta.openshift.io/inject-cabundle': 'true',
  });
  expect(guardArgs({ authority: undefined })).toContain('--tls-cert-file=/etc/machineconfig-guard/tls/tls.crt');
});

test('the image is the one that was named', () => {
  expect(objects({})('Deployment')?.spec.template.spec.containers[0]?.image).toBe(PLAIN.image);
});

test('no MachineConfigGuard unless a mode was named: applying the set again must not change it', () => {
  expect(objects({})('MachineConfigGuard')).toBeUndefined();
  expect(objects({ mode: 'Disabled' })('MachineConfigGuard')?.spec).toEqual({ mode: 'Disabled' });
});

test('one control-plane node: one replica, and nothing to be apart from', () => {
  const { spec } = objects({ singleNode: true })('Deployment') ?? {};
  expect(spec?.replicas).toBe(1);
  expect(spec?.template.spec).not.toHaveProperty('affinity');
});

test('the network of the hosts: its ports, its constraint, its namespace level', () => {
  const of = objects({ hostNetwork: true });
  const template = of('Deployment')?.spec.template;
  expect(template?.spec.hostNetwork).toBe(true);
  expect(template?.metadata.annotations['openshift.io/required-scc']).toBe('hostnetwork-v2');
  expect(template?.spec.containers[0]?.ports.map(({ containerPort }) => containerPort)).toEqual([9843, 9844, 9845]);
  expect(guardArgs({ hostNetwork: true })).toEqual(
    expect.arrayContaining(['--secure-port=9843', '--health-port=9844', '--metrics-port=9845']),
  );
  expect(of('Namespace')?.metadata.labels?.['pod-security.kubernetes.io/enforce']).toBe('privileged');
});

test('failing open comes with the policies, and with them alone', () => {
  const of = objects({ profile: 'fail-open-with-floor' });
  expect(of('ValidatingWebhookConfiguration')?.webhooks[0]?.failurePolicy).toBe('Ignore');
  expect(of('ValidatingAdmissionPolicy')).toBeDefined();
  expect(of('ValidatingAdmissionPolicyBinding')).toBeDefined();
  expect(objects({})('ValidatingWebhookConfiguration')?.webhooks[0]?.failurePolicy).toBe('Fail');
  expect(objects({})('ValidatingAdmissionPolicy')).toBeUndefined();
});

test.each([
  [undefined, /--kubernetes-version/],
  [{ major: 1, minor: 29 }, /use fail-closed/],
])('failing open on Kubernetes %j is impossible, and it says why', (kubernetesVersion, says) => {
  const render = () => buildInstallation({ ...PLAIN, profile: 'fail-open-with-floor', kubernetesVersion });
  expect(render).toThrow(InvalidInstallation);
  expect(render).toThrow(says);
});

test.each([
  [undefined, false],
  [{ major: 1, minor: 28 }, false],
  [{ major: 1, minor: 29 }, true],
  [{ major: 1, minor: 35 }, true],
])('FlowSchema on Kubernetes %j: %j, and its absence is said', (kubernetesVersion, present) => {
  const { files, leftOut } = buildInstallation({ ...PLAIN, kubernetesVersion });
  expect(files.some(({ kind }) => kind === 'FlowSchema')).toBe(present);
  expect(leftOut).toEqual(present ? [] : [expect.stringContaining('FlowSchema')]);
});

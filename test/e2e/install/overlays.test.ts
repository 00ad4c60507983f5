import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

import { afterAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';

import { buildInstallation, type InstallationOptions } from '../../../src/install/installation.ts';
import { ControlPlane } from '../control-plane/control-plane.ts';
import type { KubeObject } from '../control-plane/kube-client.ts';
import { until } from '../control-plane/until.ts';
import { readForeignCrds } from '../support/foreign-crds.ts';
import { buildDirectory, kubectl, kubectlOk } from '../support/kubectl.ts';
import { MANIFESTS, overlay, OVERLAYS } from '../support/overlays.ts';
import { PATHS } from '../support/paths.ts';
import { runBinaries } from '../support/run-binaries.ts';
import type { Rule } from '../support/service-account.ts';

const controlPlane = await ControlPlane.start(await runBinaries());
for (const project of ['cert-manager', 'prometheus-operator'] as const) {
  await controlPlane.installCrds(await readForeignCrds(project));
}
// The console looks for dashboards in this namespace.
for (const name of ['openshift-config-managed', 'machineconfig-guard']) {
  await kubectlOk(controlPlane, ['create', 'namespace', name]);
}
const builds = new Map<string, readonly KubeObject[]>();
for (const name of OVERLAYS) builds.set(name, await buildDirectory(controlPlane.kubectl, overlay(name)));
const withPod = OVERLAYS.filter((name) => findObjects(name, 'Deployment').length > 0);

afterAll(() => controlPlane.stop());

function findObjects(name: string, kind: string): readonly (KubeObject & { readonly rules?: readonly Rule[] })[] {
  return (builds.get(name) ?? []).filter((object) => object.kind === kind);
}

test.each(OVERLAYS)(
  '%s is applied with strict validation and without a warning, and a second time without a change',
  async (name) => {
    const apply = ['apply', '--validate=strict', '--kustomize', overlay(name)];
    // The namespace exists, and the annotation of an earlier `apply` is missing.
    const first = await kubectl(controlPlane, apply);
    expect(first.exitCode).toBe(0);
    // Pod security warns about a Deployment whose pods it would reject.
    expect(first.stderr.replace(/^Warning: resource namespaces\/machineconfig-guard is missing.*\n/, '')).toBe('');

    const second = await kubectlOk(controlPlane, apply);
    // kubectl always replaces the selector of a PodDisruptionBudget, even by the same one.
    const isChange = (line: string) => !line.endsWith(' unchanged') && !line.startsWith('poddisruptionbudget');
    expect(second.trimEnd().split('\n').filter(isChange)).toEqual([]);
  },
);

test('the namespace of service-ca rejects pods in the network of the host', async () => {
  await kubectlOk(controlPlane, ['apply', '--kustomize', overlay('service-ca')]);
  const deployment = JSON.stringify(findObjects('host-network', 'Deployment')[0]);

  const { stderr } = await kubectl(controlPlane, ['apply', '--dry-run=server', '--filename=-'], deployment);

  expect(stderr).toContain('would violate PodSecurity "restricted');
});

test('the deleted overlays leave nothing behind', async () => {
  for (const name of OVERLAYS) {
    await kubectlOk(controlPlane, ['delete', '--wait=false', '--ignore-not-found', '--kustomize', overlay(name)]);
  }
  const isGone = async () => (await controlPlane.apiServer.admin.find(PATHS.guardNamespace)) === undefined;
  await until('the namespace to go', isGone, { timeoutMs: 60_000 });

  const kinds =
    'namespaces,clusterroles,clusterrolebindings,crds,validatingwebhookconfigurations,flowschemas,' +
    'validatingadmissionpolicies,validatingadmissionpolicybindings';
  const own = ['get', kinds, '--selector=app.kubernetes.io/name=machineconfig-guard', '--output=name'];
  expect(await kubectlOk(controlPlane, own)).toBe('');
}, 120_000);

/** Kubernetes: Admission Webhook Good Practices. OpenShift: CONVENTIONS.md of openshift/enhancements. */
describe.each(withPod)('%s', (name) => {
  const isHostNetwork = name === 'host-network';
  const isSingleNode = name === 'single-node';

  test('has one narrow webhook that fails closed unless the policies replace it', () => {
    expect(findObjects(name, 'ValidatingWebhookConfiguration')).toMatchObject([
      {
        webhooks: [
          {
            rules: [{ operations: ['DELETE'], resources: ['machineconfigs'], scope: 'Cluster' }],
            matchConditions: [{ expression: 'oldObject.metadata.name.startsWith("rendered-")' }],
            timeoutSeconds: 5,
            matchPolicy: 'Equivalent',
            sideEffects: 'NoneOnDryRun',
            failurePolicy: name === 'fail-open-with-floor' ? 'Ignore' : 'Fail',
            clientConfig: { service: { port: 443 } },
          },
        ],
      },
    ]);
  });

  test('may write nothing that the guard protects, and read one Secret', () => {
    const rules = ['ClusterRole', 'Role'].flatMap((kind) =>
      findObjects(name, kind).flatMap((role) => role.rules ?? []),
    );
    const granted = (resource: string) => rules.filter(({ resources = [] }) => resources.includes(resource));
    for (const resource of ['nodes', 'machineconfigs', 'machineconfigpools', 'machineosbuilds']) {
      expect(new Set(granted(resource).flatMap(({ verbs }) => verbs))).toEqual(new Set(['get', 'list', 'watch']));
    }
    expect(granted('secrets')).toMatchObject([
      { resourceNames: ['machineconfig-guard-ca'], verbs: ['get', 'list', 'watch'] },
    ]);
    const all = rules.flatMap(({ apiGroups = [], resources = [], verbs }) => [...apiGroups, ...resources, ...verbs]);
    for (const forbidden of ['*', 'admissionregistration.k8s.io', 'rbac.authorization.k8s.io']) {
      expect(all).not.toContain(forbidden);
    }
  });

  test('runs without privileges', () => {
    const level = isHostNetwork ? 'privileged' : 'restricted';
    expect(findObjects(name, 'Namespace')[0]?.metadata.labels).toMatchObject({
      'pod-security.kubernetes.io/enforce': level,
      'pod-security.kubernetes.io/warn': level,
    });
    const readOnly = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } };
    expect(findObjects(name, 'Deployment')[0]?.spec).toMatchObject({
      template: {
        metadata: { annotations: { 'openshift.io/required-scc': isHostNetwork ? 'hostnetwork-v2' : 'restricted-v2' } },
        spec: {
          securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
          containers: [{ image: 'machineconfig-guard:latest', securityContext: readOnly }],
        },
      },
    });
  });

  test('stays available during drains, upgrades and the loss of a node', () => {
    const topology = { topologyKey: 'kubernetes.io/hostname' };
    const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [topology] } };
    expect(findObjects(name, 'Deployment')[0]?.spec).toMatchObject({
      replicas: isSingleNode ? 1 : 2,
      // Two pods cannot have the same port of one host.
      strategy: { rollingUpdate: { maxUnavailable: 1, ...(isHostNetwork ? { maxSurge: 0 } : {}) } },
      template: {
        spec: {
          priorityClassName: 'system-cluster-critical',
          nodeSelector: { 'node-role.kubernetes.io/control-plane': '' },
          ...(isSingleNode ? {} : { affinity }),
          containers: [{ readinessProbe: { httpGet: { path: '/readyz' } } }],
        },
      },
    });
    expect(findObjects(name, 'PodDisruptionBudget')).toMatchObject([
      { spec: { maxUnavailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow' } },
    ]);
    expect(findObjects(name, 'FlowSchema')).toHaveLength(1);
  });
});

test('no overlay has a MachineConfigGuard, a key, a limit, or an input of the Machine Config Operator', () => {
  const objects = [...builds.values()].flat();
  expect(JSON.stringify(objects)).not.toMatch(/"(?:caBundle|limits)":/);
  expect(objects.map(({ kind }) => kind)).not.toContain('MachineConfigGuard');
  expect(objects.filter((object) => object.kind === 'Secret' && ('data' in object || 'stringData' in object))).toEqual(
    [],
  );
  const operatorInput = /^(?:machineconfiguration|config)\.openshift\.io/;
  expect(objects.filter(({ apiVersion }) => operatorInput.test(apiVersion))).toEqual([]);
});

const PLAIN: InstallationOptions = {
  image: 'machineconfig-guard:latest',
  profile: 'fail-closed',
  authority: undefined,
  mode: undefined,
  singleNode: false,
  hostNetwork: false,
  kubernetesVersion: { major: 1, minor: 33 },
};

/** The objects that kustomize builds from parts of manifests/. */
async function kustomize(resources: readonly string[], components: readonly string[]): Promise<readonly KubeObject[]> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'mcg-kustomize-')));
  const toRelative = (name: string) => relative(directory, join(MANIFESTS, name));
  const kustomization = {
    resources: resources.map(toRelative),
    components: components.map((name) => toRelative(`components/${name}`)),
  };
  try {
    await writeFile(join(directory, 'kustomization.yaml'), JSON.stringify(kustomization));
    return await buildDirectory(controlPlane.kubectl, directory);
  } finally {
    await rm(directory, { recursive: true });
  }
}

function sortObjects(objects: readonly KubeObject[]): readonly KubeObject[] {
  const keyOf = ({ kind, metadata: { namespace = '', name } }: KubeObject) => `${kind}/${namespace}/${name}`;
  return objects.toSorted((a, b) => keyOf(a).localeCompare(keyOf(b)));
}

test.each([
  ['the default', {}, ['base'], ['service-ca']],
  ['a single node', { singleNode: true }, ['base'], ['service-ca', 'single-node']],
  ['the host network', { hostNetwork: true }, ['base'], ['service-ca', 'host-network']],
  ['both', { hostNetwork: true, singleNode: true }, ['base'], ['service-ca', 'single-node', 'host-network']],
  ['failing open', { profile: 'fail-open-with-floor' }, ['base', 'overlays/policy-floor'], ['service-ca', 'fail-open']],
] as const)('render writes the objects that kustomize builds: %s', async (_name, options, resources, components) => {
  const files = buildInstallation({ ...PLAIN, ...options }).files;
  const rendered = files.map(({ content }) => parse(content) as KubeObject);

  expect(sortObjects(rendered)).toEqual(sortObjects(await kustomize(resources, components)));
});

test.each([
  ['generated', 'monitoring-generated', { secret: { name: 'machineconfig-guard-ca', key: 'ca.crt' } }],
  ['cert-manager', 'monitoring-cert-manager', { secret: { name: 'machineconfig-guard-tls', key: 'ca.crt' } }],
])('Prometheus trusts the authority of the certificates: %s', async (certificates, monitoring, ca) => {
  const objects = await kustomize(['base'], [certificates, monitoring]);

  const monitor = objects.find(({ kind }) => kind === 'ServiceMonitor');
  expect(monitor?.spec).toMatchObject({ endpoints: [{ tlsConfig: { ca } }] });
  expect(objects.map(({ metadata }) => metadata.name)).not.toContain('machineconfig-guard-service-ca');
});

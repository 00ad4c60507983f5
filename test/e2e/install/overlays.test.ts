import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { buildInstallation } from '../../../src/install/installation.ts';
import { DIRECTORY_BY_PROFILE, type Profile } from '../../../src/install/profiles.ts';
import { DEFAULT_OPTIONS } from '../../install/installation-options.ts';
import { ControlPlane } from '../control-plane/control-plane.ts';
import { buildDirectory, kubectl, kubectlOk } from '../support/kubectl.ts';
import { combine, hasPolicies, MANIFESTS, overlay, overlayForRelease, OVERLAYS } from '../support/overlays.ts';
import { runBinaries } from '../support/runner.ts';

const controlPlane = await ControlPlane.start(await runBinaries());
await controlPlane.installProjects('cert-manager', 'prometheus-operator');
// The console looks for dashboards in the first one.
for (const name of ['openshift-config-managed', 'machineconfig-guard']) {
  await kubectlOk(controlPlane, ['create', 'namespace', name]);
}
const hasFloor = hasPolicies(controlPlane);
/** Those that the release can apply. The floor is nothing but policies. */
const APPLICABLE = OVERLAYS.filter((name) => hasFloor || !name.endsWith('-floor'));

afterAll(() => controlPlane.stop());

test.each(APPLICABLE)('%s is valid and causes no warning, and a second apply changes nothing', async (name) => {
  const flags = ['--kustomize', await overlayForRelease(controlPlane, name)];
  // The namespace exists, and the annotation of an earlier `apply` is missing.
  const first = await kubectl(controlPlane, ['apply', '--validate=strict', ...flags]);
  expect(first.exitCode).toBe(0);
  // Pod security warns about a Deployment whose pods it would reject.
  const warnings = first.stderr.replace(/^Warning: resource namespaces\/\S+ is missing.*\n/, '');
  expect(warnings).toBe('');

  // A validation would download every schema again.
  const second = await kubectlOk(controlPlane, ['apply', '--validate=false', ...flags]);
  // kubectl always replaces the selector of a PodDisruptionBudget, even by the same one.
  const isChange = (line: string) => !line.endsWith(' unchanged') && !line.startsWith('poddisruptionbudget');
  expect(second.trimEnd().split('\n').filter(isChange)).toEqual([]);
});

test('no overlay has settings, a key, a limit or an object of the operators', async () => {
  const builds = OVERLAYS.map((name) => buildDirectory(controlPlane, overlay(name)));
  const objects = (await Promise.all(builds)).flat();
  expect(JSON.stringify(objects)).not.toMatch(/"caBundle":|"limits":{[^}]*"cpu"/);
  expect(objects.map(({ kind }) => kind)).not.toContain('MachineConfigGuard');
  // People bind the other roles themselves.
  const bindings = JSON.stringify(objects.filter(({ kind }) => kind === 'ClusterRoleBinding'));
  expect(bindings).toContain('"name":"machineconfig-guard"');
  expect(bindings).not.toMatch(/"machineconfig-guard-(?:reader|verify|restore)/);
  const secrets = objects.filter(({ kind }) => kind === 'Secret');
  expect(JSON.stringify(secrets)).not.toMatch(/"(?:data|stringData)":/);
  const versions = objects.map(({ apiVersion }) => apiVersion);
  expect(versions.join()).not.toMatch(/\b(?:machineconfiguration|config)\.openshift\.io/);
  // No network of the tests enforces a NetworkPolicy. No rule lets every address reach a port.
  const policies = objects.filter(({ kind }) => kind === 'NetworkPolicy');
  const rules = policies.flatMap(({ spec }) => (spec as { ingress: readonly { from?: readonly object[] }[] }).ingress);
  expect(rules.length).toBeGreaterThan(8);
  for (const { from = [] } of rules) expect(from).not.toEqual([]);
});

/** An overlay has no image to record. */
function parseUnrecorded(content: string): unknown {
  return parse(content.replace(/^ +render\.machineconfig-guard\.io\/image: .*\n/m, ''));
}

const PLAIN = { ...DEFAULT_OPTIONS, image: 'machineconfig-guard', authority: undefined };

test.each([
  ['service-ca', [], {}],
  ['single-node', [], { singleNode: true }],
  ['host-network', [], { hostNetwork: true }],
  ['fail-open-with-floor', [], { profile: 'fail-open-with-floor' }],
  ['service-ca', ['no-machineconfig-access'], { machineconfigAccess: false }],
  ['service-ca', ['open-network'], { openNetwork: true }],
  // The component that fails open brings the policy floor.
  ['service-ca', ['fail-open-with-floor'], { profile: 'fail-open-with-floor' }],
  // It includes openshift-4.15 and openshift-4.16.
  ['service-ca', ['openshift-4.14'], { kubernetesVersion: 27 }],
] as const)('the overlay %s with %j has the objects that render writes with %j', async (name, components, options) => {
  const objects = await buildDirectory(controlPlane, await combine(controlPlane, overlay(name), components));

  const { files } = buildInstallation({ ...PLAIN, ...options });
  expect(objects).toHaveLength(files.length);
  for (const { content } of files) expect(objects).toContainEqual(parseUnrecorded(content));
});

test.each(Object.entries(DIRECTORY_BY_PROFILE))('the profile %s has the objects of %s', async (name, directory) => {
  const objects = await buildDirectory(controlPlane, join(MANIFESTS, directory));

  const { files } = buildInstallation({ profile: name as Profile, kubernetesVersion: 30 });
  expect(files.map(({ content }) => parse(content) as object)).toEqual(expect.arrayContaining([...objects]));
  expect(objects).toHaveLength(files.length);
});

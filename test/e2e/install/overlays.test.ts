import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { buildManifests } from '../../../src/install/kustomization.ts';
import { DIRECTORY_BY_PROFILE } from '../../../src/install/profiles.ts';
import { DASHBOARD } from '../../docs/pages.ts';
import { ControlPlane } from '../control-plane/control-plane.ts';
import { buildDirectory, kubectl, kubectlOk } from '../support/kubectl.ts';
import { combine, hasPolicies, MANIFESTS, overlayForRelease, OVERLAYS } from '../support/overlays.ts';
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

/** Without the one of the dashboard, whose object only kustomize generates. */
const DIRECTORIES = new Set([
  ...OVERLAYS.map((name) => `overlays/${name}`).filter((directory) => !DASHBOARD.includes(directory)),
  ...Object.values(DIRECTORY_BY_PROFILE),
]);
const PLAIN = 'overlays/service-ca';

// The golden file of test/install shows the objects that `render` builds of these directories.
test.each<[directory: string, components: readonly string[]]>([
  ...Array.from(DIRECTORIES, (directory): [string, string[]] => [directory, []]),
  [PLAIN, ['no-machineconfig-access']],
  [PLAIN, ['open-network']],
  [PLAIN, ['fail-open-with-floor']],
  // It includes openshift-4.15 and openshift-4.16.
  [PLAIN, ['openshift-4.14']],
])('kustomize and render build the same objects of %s with %j', async (directory, components) => {
  const path = join(MANIFESTS, directory);
  const built = await buildDirectory(
    controlPlane,
    components.length === 0 ? path : await combine(controlPlane, path, components),
  );

  const rendered = buildManifests([directory, ...components.map((name) => `components/${name}`)]);
  expect(built).toHaveLength(rendered.length);
  for (const manifest of rendered) expect(built).toContainEqual(manifest.toJS());
});

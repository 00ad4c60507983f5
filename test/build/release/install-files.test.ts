import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { INSTALL_FILES, renderInstallFile } from '../../../build/release/install-files.ts';
import { buildInstallation } from '../../../src/install/installation.ts';
import { DEFAULT_OPTIONS } from '../../install/installation-options.ts';

const { image } = DEFAULT_OPTIONS;
const VERSION = { 'app.kubernetes.io/version': '1.2.0' };

interface Labeled {
  readonly metadata: { readonly labels?: Record<string, string> | undefined };
  readonly spec?: { readonly template?: Labeled };
}

// test/e2e/install/overlays.test.ts compares the objects of render with the overlays.
test.each([
  ['install.yaml', {}],
  ['install-fail-open-with-floor.yaml', { profile: 'fail-open-with-floor' }],
  ['install-host-network.yaml', { hostNetwork: true }],
  ['install-openshift-4.14.yaml', { kubernetesVersion: { major: 1, minor: 27 } }],
  ['install-openshift-4.15.yaml', { kubernetesVersion: { major: 1, minor: 28 } }],
  ['install-openshift-4.16.yaml', { kubernetesVersion: { major: 1, minor: 29 } }],
  ['install-single-node.yaml', { singleNode: true }],
] as const)('%s has the objects of render with %j, each with the version', (name, options) => {
  const text = renderInstallFile(name, image, '1.2.0');
  const objects = parseAllDocuments(text).map((document) => document.toJS() as Labeled);
  for (const object of objects) expect(object).toMatchObject({ metadata: { labels: VERSION } });
  const pods = objects.map(({ spec }) => spec?.template).filter((template) => template !== undefined);
  expect(pods).toMatchObject([{ metadata: { labels: VERSION } }]);

  const { files } = buildInstallation({ ...DEFAULT_OPTIONS, authority: undefined, ...options });
  const rendered = files.map(({ content }) => withoutVersion(parse(content) as Labeled));
  expect(objects.map(withoutVersion)).toEqual(rendered);
});

test('every file is tested', () => {
  expect(INSTALL_FILES).toHaveLength(7);
});

/** Removes the label, and labels that are then empty. */
function withoutVersion(object: Labeled): Labeled {
  const { metadata, ...others } = structuredClone(object);
  for (const { labels } of [metadata, others.spec?.template?.metadata ?? {}])
    delete labels?.['app.kubernetes.io/version'];
  const { labels, ...withoutLabels } = metadata;
  return { metadata: Object.keys(labels ?? {}).length === 0 ? withoutLabels : metadata, ...others };
}

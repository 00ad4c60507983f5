import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { INSTALL_FILES, renderInstallFile } from '../../../build/release/install-files.ts';
import { buildInstallation } from '../../../src/install/installation.ts';
import { DEFAULT_OPTIONS } from '../../install/installation-options.ts';

const { image } = DEFAULT_OPTIONS;
const VERSION = { 'app.kubernetes.io/version': '1.2.0' };

interface Labeled {
  readonly metadata: { labels?: Record<string, string> };
}

function readObjects(name: (typeof INSTALL_FILES)[number]): readonly unknown[] {
  return parseAllDocuments(renderInstallFile(name, image, '1.2.0')).map(
    (document) => document.toJS() as unknown,
  );
}

test.each(INSTALL_FILES)('%s has the label of the version on every object and on the pods', (name) => {
  const objects = readObjects(name);
  expect(objects.length).toBeGreaterThan(10);
  for (const object of objects) expect(object).toMatchObject({ metadata: { labels: VERSION } });
  const template = { metadata: { labels: VERSION }, spec: { containers: [{ image }] } };
  expect(objects).toContainEqual(expect.objectContaining({ kind: 'Deployment' }));
  expect(objects.find((object) => (object as { kind: string }).kind === 'Deployment')).toMatchObject({
    spec: { selector: { matchLabels: { 'app.kubernetes.io/name': 'machineconfig-guard' } }, template },
  });
});

// test/e2e/install/overlays.test.ts compares these with the overlays.
test.each([
  ['install.yaml', {}],
  ['install-fail-open-with-floor.yaml', { profile: 'fail-open-with-floor' }],
  ['install-host-network.yaml', { hostNetwork: true }],
  ['install-single-node.yaml', { singleNode: true }],
] as const)('%s has the objects that render writes with %j', (name, options) => {
  const { files } = buildInstallation({ ...DEFAULT_OPTIONS, authority: undefined, ...options });
  const rendered = files.map(({ content }) => withoutVersion(parse(content)));
  expect(readObjects(name).map(withoutVersion)).toEqual(rendered);
});

test('every file is tested', () => {
  expect(INSTALL_FILES).toHaveLength(4);
});

/** Removes the label, and labels that are then empty. */
function withoutVersion(object: unknown): unknown {
  const { metadata, ...others } = JSON.parse(JSON.stringify(object)) as Labeled;
  const pods = (others as { spec?: { template?: Labeled } }).spec?.template;
  for (const labeled of [{ metadata }, pods])
    delete labeled?.metadata.labels?.['app.kubernetes.io/version'];
  if (Object.keys(metadata.labels ?? {}).length === 0) delete metadata.labels;
  return { metadata, ...others };
}

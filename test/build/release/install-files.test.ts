import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { INSTALL_FILES, renderInstallFile } from '../../../build/release/install-files.ts';

const IMAGE = `registry.example.com/machineconfig-guard@sha256:${'a'.repeat(64)}`;
const LABELS = { metadata: { labels: { 'app.kubernetes.io/version': '1.2.0' } } };

// test/install and test/e2e/install compare the objects of render with the overlays.
test.each(INSTALL_FILES)('%s has one Deployment with the image, and the version on every object', (name) => {
  const text = renderInstallFile(name, IMAGE, '1.2.0');
  expect(text).toMatch(new RegExp(`^# machineconfig-guard 1\\.2\\.0\\. Apply it with: oc apply -f ${name}\n`));
  const objects = parseAllDocuments(text).map((document) => document.toJS() as { readonly kind: string });
  for (const object of objects) expect(object).toMatchObject(LABELS);
  const deployments = objects.filter(({ kind }) => kind === 'Deployment');
  const template = { ...LABELS, spec: { containers: [{ image: IMAGE }] } };
  expect(deployments).toMatchObject([{ spec: { replicas: name === 'install-single-node.yaml' ? 1 : 2, template } }]);
});

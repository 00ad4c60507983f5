import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { parseAllDocuments } from 'yaml';

import type { KubeObject } from '../control-plane/kube-client.ts';

/** CRDs of projects that some overlays are for, as their Go modules carry them. Needs Go. */
const CRDS = {
  'cert-manager': {
    module: 'github.com/cert-manager/cert-manager@v1.17.2',
    files: ['deploy/crds/crd-certificates.yaml', 'deploy/crds/crd-issuers.yaml'],
  },
  'prometheus-operator': {
    module: 'github.com/prometheus-operator/prometheus-operator@v0.82.0',
    files: ['monitoring.coreos.com_servicemonitors.yaml', 'monitoring.coreos.com_prometheusrules.yaml'].map(
      (file) => `example/prometheus-operator-crd/${file}`,
    ),
  },
} as const;

/** Downloads the module where it is not in Go's cache yet; its checksum is verified by Go. */
export async function foreignCrds(project: keyof typeof CRDS): Promise<readonly KubeObject[]> {
  const { module, files } = CRDS[project];
  const { stdout } = await promisify(execFile)('go', ['mod', 'download', '-json', module], { cwd: tmpdir() });
  const { Dir } = JSON.parse(stdout) as { readonly Dir: string };
  const texts = await Promise.all(files.map((file) => readFile(join(Dir, file), 'utf8')));
  return texts.map((text) => withoutTemplate(text));
}

/** cert-manager's are also a Helm template: the lines with expressions are labels and conditions, which nobody misses here. */
function withoutTemplate(text: string): KubeObject {
  const plain = text
    .split('\n')
    .filter((line) => !line.includes('{{'))
    .join('\n');
  const objects = parseAllDocuments(plain).map((document) => document.toJS() as KubeObject | null);
  const crd = objects.find((object) => object?.kind === 'CustomResourceDefinition');
  if (crd === null || crd === undefined) throw new Error('There is no CustomResourceDefinition in this file.');
  return crd;
}

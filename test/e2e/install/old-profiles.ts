import { join } from 'node:path';

import { createAuthority } from '../../../src/certificates/authority.ts';
import { createAuthoritySecret, encodeBase64 } from '../../../src/install/manifest.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { KubeObject } from '../control-plane/kube-client.ts';
import { buildDirectory } from '../support/kubectl.ts';

/** A folder of 0.1.0/. */
export type OldProfile =
  'service-ca' | 'single-node' | 'host-network' | 'generated' | 'monitoring' | 'policy-floor' | 'fail-open-with-floor';

/** The objects of a profile of version 0.1.0, for `kubectl apply --filename=-`. */
export async function buildOldProfile(
  controlPlane: ControlPlane,
  profile: OldProfile,
  image = 'machineconfig-guard:latest',
): Promise<string> {
  const objects = await buildDirectory(controlPlane, join(import.meta.dirname, '0.1.0', profile));
  const items = profile === 'generated' ? await addAuthority(objects) : objects;
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  return list.replace('"image":"machineconfig-guard:latest"', `"image":"${image}"`);
}

/** As `render` did. */
async function addAuthority(objects: readonly KubeObject[]): Promise<readonly object[]> {
  const authority = await createAuthority({ days: 30, now: new Date() });
  const labels = { 'app.kubernetes.io/name': 'machineconfig-guard' };
  const metadata = { name: 'machineconfig-guard-ca', namespace: 'machineconfig-guard', labels };
  const caBundle = encodeBase64(authority.certificatePem);
  const withBundle = objects.map(({ webhooks, ...object }) => ({
    ...object,
    webhooks: webhooks?.map((webhook) => ({ ...webhook, clientConfig: { ...webhook.clientConfig, caBundle } })),
  }));
  return [...withBundle, createAuthoritySecret('', metadata, authority).toJS() as object];
}

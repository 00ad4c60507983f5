import { isRecord } from '../rendered-config/rendered-config.ts';
import type { ManifestObject, ManifestSet } from './manifest-set.ts';
import { MANIFEST, type ManifestFile, type ManifestInput } from './read-manifests.ts';

const OBJECT = /^\s*(?:apiVersion|kind|\{)/m;

/**
 * What a cluster gets from the ConfigMaps of a hub, such as those of `extraManifestsRefs` of a ClusterInstance or of
 * `manifestsConfigMapRefs` of an AgentClusterInstall. The other objects belong to the hub. Undefined if the manifests
 * are not for a hub.
 */
export function findNestedManifests(input: ManifestInput, set: ManifestSet): ManifestInput | undefined {
  const files = set.listOfType(' ConfigMap').flatMap(listManifests);
  const isForHub =
    input.files.some(({ ignored }) => ignored === 'KustomizationFile') ||
    set.all.every(({ type, group }) => type === ' ConfigMap' || set.catalog.has('clientGroups', group));
  return input.hasFolders || files.length === 0 || !isForHub ? undefined : { ...input, installer: 'hub', files };
}

/** The Assisted installer rejects other endings (assisted-service, internal/manifests/manifests.go). */
function listManifests({ manifest, value, document }: ManifestObject): ManifestFile[] {
  const data = isRecord(value['data']) ? value['data'] : {};
  return Object.entries(data).flatMap(([key, text]): ManifestFile[] => {
    if (typeof text !== 'string' || !OBJECT.test(text)) return [];
    const path = `${manifest.file}/${key}`;
    // The text begins in the line after its key, with an indicator such as "|".
    const file = { path, content: Buffer.from(text), line: document.findLine(data, key) };
    return [MANIFEST.test(key) ? file : { path, ignored: 'IgnoredFile' }];
  });
}

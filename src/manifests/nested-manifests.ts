import { isRecord } from '../rendered-config/rendered-config.ts';
import { CLIENT_GROUP } from './kinds.ts';
import { type ManifestObject, ManifestSet } from './manifest-set.ts';
import type { ManifestInput } from './read-manifests.ts';

const MANIFEST = /\.(?:ya?ml|json)$/;
const OBJECT = /^\s*(?:apiVersion|kind|\{)/m;

/**
 * The manifests in the ConfigMaps of a hub, such as those of `extraManifestsRefs` of a ClusterInstance or of
 * `manifestsConfigMapRefs` of an AgentClusterInstall. The other objects belong to the hub. Returns the same set if it
 * is not for a hub.
 */
export function expandConfigMaps({ hasFolders, files }: ManifestInput, set: ManifestSet): ManifestSet {
  const nested = set.listOfType(' ConfigMap').flatMap(listManifests);
  const isForHub =
    files.some(({ ignored }) => ignored === 'KustomizationFile') ||
    set.all.every(({ type, group }) => type === ' ConfigMap' || CLIENT_GROUP.test(group));
  if (hasFolders || nested.length === 0 || !isForHub) return set;
  const expanded = new ManifestSet({ installer: 'hub', release: set.release });
  for (const file of nested) expanded.add(file);
  return expanded;
}

function listManifests({ manifest, value, document }: ManifestObject) {
  const data = isRecord(value['data']) ? value['data'] : {};
  return Object.entries(data).flatMap(([key, text]) => {
    if (!MANIFEST.test(key) || typeof text !== 'string' || !OBJECT.test(text)) return [];
    // The text begins in the line after its key, with an indicator such as "|".
    return [{ path: `${manifest.file}/${key}`, content: Buffer.from(text), line: document.findLine(data, key) }];
  });
}

import { Document, isCollection, isPair, stringify } from 'yaml';

const MAX_COLUMNS = 140;

/** As YAML, in which each list or object below the root is in one line if it fits. */
export function formatFolded(content: object): string {
  const document = new Document(content, { aliasDuplicateObjects: false });
  if (isCollection(document.contents)) {
    for (const item of document.contents.items) foldCollections(isPair(item) ? item.value : item, 2);
  }
  return document.toString({ lineWidth: 0, flowCollectionPadding: false });
}

function foldCollections(node: unknown, indent: number, key = ''): void {
  if (!isCollection(node)) return;
  const line = stringify(node.toJSON(), { collectionStyle: 'flow', flowCollectionPadding: false, lineWidth: 0 });
  node.flow = indent + key.length + line.length <= MAX_COLUMNS;
  if (node.flow) return;
  for (const item of node.items) {
    if (isPair(item)) foldCollections(item.value, indent + 2, String(item.key));
    else foldCollections(item, indent + 2);
  }
}

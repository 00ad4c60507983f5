import { Document } from 'yaml';
import type { Manifest } from './kustomization.ts';

/** An object that is in no file of manifests/, with a comment above it. Strings that YAML 1.1 reads as something else are quoted. */
export function createManifest(comment: string, object: object): Manifest {
  const document = new Document(object, { schema: 'yaml-1.1' });
  if (document.contents !== null) document.contents.commentBefore = comment;
  return document as unknown as Manifest;
}

import { Document } from 'yaml';
import type { Authority } from '../certificates/authority.ts';

export type Manifest = Document.Parsed;

export interface OutputFile {
  readonly name: string;
  readonly content: string;
  /** Whether only the owner may read it. */
  readonly isPrivate: boolean;
}

/** Creates the Secret that `serve --tls-secret` reads. */
export function createAuthoritySecret(comment: string, metadata: object, authority: Authority): Manifest {
  const data = {
    'ca.crt': encodeBase64(authority.certificatePem),
    'ca.key': encodeBase64(authority.privateKeyPem),
  };
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', data };
  // Quotes strings that YAML 1.1 reads as another type.
  const document = new Document(secret, { schema: 'yaml-1.1' });
  if (document.contents !== null) document.contents.commentBefore = comment;
  return document as unknown as Manifest;
}

/** Reads a Secret of {@link createAuthoritySecret}. A missing part is empty. */
export function readAuthoritySecret(secret: unknown): Authority {
  const { data } = (secret ?? {}) as { readonly data?: Readonly<Record<string, unknown>> };
  return { certificatePem: decodeBase64(data?.['ca.crt']), privateKeyPem: decodeBase64(data?.['ca.key']) };
}

function decodeBase64(value: unknown): string {
  return typeof value === 'string' ? Buffer.from(value, 'base64').toString('utf8') : '';
}

export function encodeBase64(text: string): string {
  return Buffer.from(text).toString('base64');
}

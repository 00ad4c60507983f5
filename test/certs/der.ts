import forge from 'node-forge';

/** One extension as it stands in the DER. */
export interface DerExtension {
  readonly critical: boolean;
  readonly hex: string;
}

/** What is asserted on the bytes of a certificate, read without node-forge's own certificate reader. */
export interface DerCertificate {
  readonly version: number;
  /** The content bytes of the INTEGER. */
  readonly serial: Buffer;
  /** Of the signed part and of the signature; they must agree. */
  readonly signatureAlgorithms: readonly string[];
  readonly extensions: ReadonlyMap<string, DerExtension>;
}

/** Reads the first certificate of a PEM text. */
export function readCertificate(pem: string): DerCertificate {
  const root = forge.asn1.fromDer(forge.pem.decode(pem)[0]!.body);
  const [tbs, algorithm] = children(root);
  const parts = children(tbs);
  const [version, serial, inner] = parts;
  const extensions = new Map<string, DerExtension>();
  // [3] EXPLICIT, the last part: SEQUENCE OF SEQUENCE { oid, [critical BOOLEAN,] OCTET STRING }.
  for (const extension of children(children(parts.at(-1))[0])) {
    const fields = children(extension);
    extensions.set(forge.asn1.derToOid(text(fields[0])), {
      critical: fields.length === 3 && text(fields[1]) === '\u00FF',
      hex: Buffer.from(text(fields.at(-1)), 'latin1').toString('hex'),
    });
  }
  return {
    version: text(children(version)[0]).charCodeAt(0) + 1,
    serial: Buffer.from(text(serial), 'latin1'),
    signatureAlgorithms: [inner, algorithm].map((part) => oidName(forge.asn1.derToOid(text(children(part)[0])))),
    extensions,
  };
}

/** The extension with this object identifier, if there is one. */
export function extensionOf(certificate: DerCertificate, oid: string): DerExtension | undefined {
  return certificate.extensions.get(oid);
}

function oidName(oid: string): string {
  return forge.pki.oids[oid] ?? oid;
}

function children(node: forge.asn1.Asn1 | undefined): forge.asn1.Asn1[] {
  if (node === undefined || typeof node.value === 'string') throw new Error('not a constructed ASN.1 value');
  return node.value;
}

function text(node: forge.asn1.Asn1 | undefined): string {
  if (node === undefined) throw new Error('missing ASN.1 value');
  // An OCTET STRING that holds DER is parsed through; its bytes are wanted here.
  return typeof node.value === 'string'
    ? node.value
    : node.value.map((child) => forge.asn1.toDer(child).getBytes()).join('');
}

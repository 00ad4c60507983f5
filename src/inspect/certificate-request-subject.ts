import forge from 'node-forge';

/** Part of node-forge 1.4 and missing in its types. */
const { RDNAttributesAsArray } = forge.pki as unknown as {
  RDNAttributesAsArray: (name: forge.asn1.Asn1) => readonly forge.pki.CertificateField[];
};

/**
 * Reads the subject's common name from a PKCS #10 request (RFC 2986) in PEM. Undefined if there is none or the text is
 * malformed. Works for all kinds of key: `forge.pki.certificationRequestFromPem` rejects ECDSA, which kubelets use.
 */
export function readCommonName(pem: string): string | undefined {
  try {
    const [message] = forge.pem.decode(pem);
    const request = forge.asn1.fromDer(message?.body ?? '');
    const [requestInfo] = childrenOf(request);
    const [, subject] = childrenOf(requestInfo);
    if (subject === undefined) return undefined;
    const commonName = RDNAttributesAsArray(subject).find(({ name }) => name === 'commonName')?.value;
    return typeof commonName === 'string' ? Buffer.from(commonName, 'latin1').toString('utf8') : undefined;
  } catch {
    return undefined;
  }
}

function childrenOf(node: forge.asn1.Asn1 | undefined): readonly forge.asn1.Asn1[] {
  return Array.isArray(node?.value) ? node.value : [];
}

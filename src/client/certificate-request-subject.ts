import forge from 'node-forge';

/** Missing in the types of node-forge 1.4. */
const { RDNAttributesAsArray } = forge.pki as unknown as {
  RDNAttributesAsArray: (name: forge.asn1.Asn1) => readonly forge.pki.CertificateField[];
};

/**
 * Reads the common name of a PKCS #10 request (RFC 2986).
 * `forge.pki.certificationRequestFromPem` rejects ECDSA keys, which kubelets use.
 */
export function readCommonName(pem: string): string | undefined {
  try {
    const [message] = forge.pem.decode(pem);
    const request = forge.asn1.fromDer(message?.body ?? '');
    const [requestInfo] = getChildren(request);
    const [, subject] = getChildren(requestInfo);
    if (subject === undefined) return undefined;
    const commonName = RDNAttributesAsArray(subject).find(({ name }) => name === 'commonName')?.value;
    return typeof commonName === 'string' ? Buffer.from(commonName, 'latin1').toString('utf8') : undefined;
  } catch {
    return undefined;
  }
}

function getChildren(node: forge.asn1.Asn1 | undefined): readonly forge.asn1.Asn1[] {
  return Array.isArray(node?.value) ? node.value : [];
}

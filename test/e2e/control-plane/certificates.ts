import { generateKeyPairSync, randomBytes } from 'node:crypto';

import forge from 'node-forge';

export interface KeyAndCertificate {
  readonly key: string;
  readonly certificate: string;
}

/** A certificate authority for one control plane that lives for a day: API server, clients, service-account tokens. */
export class ThrowawayAuthority {
  readonly #key: string;
  /** PEM. */
  readonly certificate: string;

  constructor() {
    const { key, publicKey } = newKey();
    const subject = [{ name: 'commonName', value: 'control-plane-ca' }];
    this.#key = key;
    this.certificate = sign({ publicKey, subject, issuer: subject, issuerKey: key }, [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, digitalSignature: true, critical: true },
      { name: 'subjectKeyIdentifier' },
    ]);
  }

  /** For a server on 127.0.0.1. */
  server(): KeyAndCertificate {
    return this.#issue([{ name: 'commonName', value: 'kube-apiserver' }], 'serverAuth', [
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'localhost' },
          { type: 7, ip: '127.0.0.1' },
        ],
      },
    ]);
  }

  /** For a client: Kubernetes reads the user from the common name and its group from the organization. */
  client(user: string, group?: string): KeyAndCertificate {
    const subject = [{ name: 'commonName', value: user }];
    if (group !== undefined) subject.push({ name: 'organizationName', value: group });
    return this.#issue(subject, 'clientAuth', []);
  }

  #issue(
    subject: forge.pki.CertificateField[],
    usage: 'serverAuth' | 'clientAuth',
    extensions: object[],
  ): KeyAndCertificate {
    const { key, publicKey } = newKey();
    const issuer = forge.pki.certificateFromPem(this.certificate).subject.attributes;
    const certificate = sign({ publicKey, subject, issuer, issuerKey: this.#key }, [
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, keyEncipherment: true, critical: true },
      { name: 'extKeyUsage', [usage]: true },
      ...extensions,
    ]);
    return { key, certificate };
  }
}

/** A key pair for signing and checking service-account tokens. */
export function newKey(): { key: string; publicKey: string } {
  const pair = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  });
  return { key: pair.privateKey, publicKey: pair.publicKey };
}

interface ToSign {
  readonly publicKey: string;
  readonly subject: forge.pki.CertificateField[];
  readonly issuer: forge.pki.CertificateField[];
  readonly issuerKey: string;
}

function sign(what: ToSign, extensions: object[]): string {
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = forge.pki.publicKeyFromPem(what.publicKey);
  // The leading 01 keeps the number positive: Go refuses negative serial numbers.
  certificate.serialNumber = `01${randomBytes(15).toString('hex')}`;
  certificate.validity.notBefore = new Date(Date.now() - 60_000);
  certificate.validity.notAfter = new Date(Date.now() + 86_400_000);
  certificate.setSubject(what.subject);
  certificate.setIssuer(what.issuer);
  certificate.setExtensions(extensions);
  certificate.sign(forge.pki.privateKeyFromPem(what.issuerKey), forge.md.sha256.create());
  return forge.pki.certificateToPem(certificate);
}

import { X509Certificate } from 'node:crypto';
import { type Authority, checkAuthority } from '../certificates/authority.ts';
import {
  createAuthoritySecret,
  createManifest,
  decodeBase64,
  encodeBase64,
  type Manifest,
  type OutputFile,
  readAuthoritySecret,
} from './manifest.ts';
import {
  findInjector,
  type Injector,
  type StoredMetadata,
  type StoredWebhookConfiguration,
  WEBHOOK_NAME,
} from './webhook-configuration.ts';

export interface RotationInput {
  readonly webhookConfiguration: unknown;
  readonly secret: unknown;
}

/** The message says what to do instead. */
export class RotationError extends Error {
  override readonly name = 'RotationError';
}

const OTHER_ISSUERS: Readonly<Record<Injector, { readonly issuer: string; readonly rotation: string }>> = {
  'service-ca': {
    issuer: "OpenShift's service CA",
    rotation: 'issues and rotates the certificates',
  },
  'cert-manager': {
    issuer: 'cert-manager',
    rotation: 'issues the certificates; rotate its issuer (cmctl renew)',
  },
};
const LAST_APPLIED_ANNOTATION = 'kubectl.kubernetes.io/last-applied-configuration';
const CERTIFICATE_PEM = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** Finds who issues the certificates of an installation, if it is not the guard itself. */
export function findOtherIssuer(webhookConfiguration: unknown) {
  const injector = findInjector(webhookConfiguration as StoredWebhookConfiguration);
  return injector === undefined ? undefined : OTHER_ISSUERS[injector];
}

/**
 * Plans how to replace the authority without a failed call. After an unfinished rotation the authority in
 * the Secret is the old one, because the guard issues from it.
 *
 * @throws RotationError
 */
export function planRotation({ webhookConfiguration, secret }: RotationInput, now: Date) {
  const configuration = webhookConfiguration as StoredWebhookConfiguration;
  const trusted = parseTrustedAuthorities(configuration);
  const { metadata } = secret as { readonly metadata?: StoredMetadata };
  const { certificatePem: oldCertificatePem } = readAuthoritySecret(secret);
  const oldCertificate = parseCertificate(oldCertificatePem);
  if (oldCertificate === undefined) {
    throw new RotationError(
      'the Secret machineconfig-guard-ca has no certificate in ca.crt; render the installation again',
    );
  }
  if (!trusted.some(({ fingerprint256 }) => fingerprint256 === oldCertificate.fingerprint256)) {
    throw new RotationError(
      'the caBundle of the webhook configuration does not contain the authority of the Secret ' +
        'machineconfig-guard-ca, so calls already fail; apply all manifests of one rendering again',
    );
  }
  const renderFiles = (newAuthority: Authority): readonly OutputFile[] => {
    const check = checkAuthority(newAuthority, now);
    if (!check.usable) throw new Error(`cannot use the new authority: ${check.reason}`);
    const newPem = newAuthority.certificatePem;
    const trustBoth = ' 1 of 3. The API servers trust the old authority and the new one.';
    const issueFromNew =
      ' 2 of 3. Each replica issues a certificate from the new authority within two seconds. Keep it secret.';
    const trustNew = ' 3 of 3. The API servers trust only the new authority.';
    // Scripts rely on the names.
    return [
      toFile('1-trust-both.yaml', createConfiguration(trustBoth, configuration, [oldCertificatePem, newPem])),
      toFile(
        '2-issue-from-new.yaml',
        createAuthoritySecret(issueFromNew, stripServerFields(metadata), newAuthority),
      ),
      toFile('3-trust-new.yaml', createConfiguration(trustNew, configuration, [newPem])),
    ];
  };
  // Other authorities in the caBundle are from an unfinished rotation.
  return { oldCertificatePem, leftOver: trusted.length - 1, renderFiles };
}

function toFile(name: string, manifest: Manifest): OutputFile {
  return { name, content: manifest.toString({ lineWidth: 0 }), isPrivate: manifest.get('kind') === 'Secret' };
}

function parseTrustedAuthorities(configuration: StoredWebhookConfiguration): readonly X509Certificate[] {
  const other = findOtherIssuer(configuration);
  if (other !== undefined) throw new RotationError(`nothing to rotate: ${other.issuer} ${other.rotation}`);
  const webhook = configuration.webhooks?.find(({ name }) => name === WEBHOOK_NAME);
  if (webhook === undefined)
    throw new RotationError(`the webhook configuration has no webhook ${WEBHOOK_NAME}`);
  const certificates = [...decodeBase64(webhook.clientConfig?.caBundle).matchAll(CERTIFICATE_PEM)]
    .map(([pem]) => parseCertificate(pem))
    .filter((certificate) => certificate !== undefined);
  if (certificates.length > 0) return certificates;
  throw new RotationError('the caBundle of the webhook configuration contains no certificate');
}

function createConfiguration(
  comment: string,
  { apiVersion, kind, metadata, webhooks = [] }: StoredWebhookConfiguration,
  trustedPems: readonly string[],
): Manifest {
  const caBundle = encodeBase64(trustedPems.map((pem) => `${pem.trim()}\n`).join(''));
  return createManifest(comment, {
    apiVersion,
    kind,
    metadata: stripServerFields(metadata),
    webhooks: webhooks.map((webhook) =>
      webhook.name === WEBHOOK_NAME
        ? { ...webhook, clientConfig: { ...webhook.clientConfig, caBundle } }
        : webhook,
    ),
  });
}

/** The last-applied annotation can contain the old private key. */
function stripServerFields({ name, namespace, labels, annotations }: StoredMetadata = {}) {
  const { [LAST_APPLIED_ANNOTATION]: _lastApplied, ...ownAnnotations } = annotations ?? {};
  // YAML omits undefined fields.
  return { name, namespace, labels, annotations: annotations === undefined ? undefined : ownAnnotations };
}

function parseCertificate(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}

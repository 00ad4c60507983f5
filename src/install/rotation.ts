import { X509Certificate } from 'node:crypto';
import { type Authority, checkAuthority } from '../certificates/authority.ts';
import type { OutputFile } from './output-directory.ts';
import { createManifest } from './new-manifest.ts';
import { WEBHOOK_NAME } from './webhook-configuration.ts';

/** The objects that a rotation starts from, as the API server or a rendered set has them. */
export interface RotationInput {
  readonly webhookConfiguration: unknown;
  readonly secret: unknown;
}

/** The three steps, in order. The names are a contract with scripts. */
export const ROTATION_FILES = ['1-trust-both.yaml', '2-issue-from-new.yaml', '3-trust-new.yaml'] as const;

/** What is there cannot be rotated. The message is one sentence with what to do instead. */
export class RotationError extends Error {
  override readonly name = 'CannotRotate';
}

/** What the rotation is from. */
export interface RotationPlan {
  readonly old: X509Certificate;
  /** Authorities in the caBundle besides the one in use: left from a rotation that was not finished. */
  readonly leftOver: number;
  readonly files: (fresh: Authority) => readonly OutputFile[];
}

interface StoredWebhookConfiguration {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: Metadata;
  readonly webhooks?: readonly { readonly name?: string; readonly clientConfig?: { readonly caBundle?: unknown } }[];
}

interface Secret {
  readonly metadata?: Metadata;
  readonly data?: Readonly<Record<string, unknown>>;
}

interface Metadata {
  readonly name?: string;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Certificates that somebody else makes and injects, by the annotation that asks for it. */
const OTHERS: Readonly<Record<string, string>> = {
  'service.beta.openshift.io/inject-cabundle':
    "OpenShift's service CA makes the certificates and rotates them by itself",
  'cert-manager.io/inject-ca-from': 'cert-manager makes the certificates; rotate its issuer (cmctl renew)',
};
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
const PEM = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/**
 * How the authority is exchanged without a call being refused: the API servers trust both, then the guard issues from the new
 * one, then only the new one is trusted. Everything else of the two objects stays as it is.
 *
 * A rotation that was left in the middle is no obstacle: what counts is the authority in the Secret, for that is the one the
 * guard issues from; others in the bundle are dropped. Throws a {@link RotationError}.
 */
export function planRotation({ webhookConfiguration, secret }: RotationInput, now: Date): RotationPlan {
  const configuration = webhookConfiguration as StoredWebhookConfiguration;
  const trusted = trustedAuthorities(configuration);
  const { metadata, data } = secret as Secret;
  const current: Authority = { certificatePem: decoded(data?.['ca.crt']), privateKeyPem: decoded(data?.['ca.key']) };
  const old = parsed(current.certificatePem);
  if (old === undefined)
    throw new RotationError(
      'the Secret machineconfig-guard-ca has no certificate in ca.crt; render the installation again',
    );
  if (!trusted.some(({ fingerprint256 }) => fingerprint256 === old.fingerprint256)) {
    throw new RotationError(
      'the caBundle of the webhook configuration does not hold the authority of the Secret machineconfig-guard-ca, so calls fail already; apply the manifests of one rendering again, both of them',
    );
  }
  return {
    old,
    leftOver: trusted.length - 1,
    files: (fresh) => {
      const check = checkAuthority(fresh, now);
      if (!check.usable) throw new Error(`the new authority cannot be used: ${check.reason}`);
      return [
        {
          name: ROTATION_FILES[0],
          content: trusting(
            ' 1 of 3. The API servers trust the old authority and the new one.',
            configuration,
            bundle(current.certificatePem, fresh.certificatePem),
          ),
          secret: false,
        },
        {
          name: ROTATION_FILES[1],
          content: secretOf(
            ' 2 of 3. Each replica issues itself a certificate from the new authority, within two seconds. Keep it secret.',
            metadata,
            fresh,
          ),
          secret: true,
        },
        {
          name: ROTATION_FILES[2],
          content: trusting(
            ' 3 of 3. The API servers trust the new authority alone.',
            configuration,
            bundle(fresh.certificatePem),
          ),
          secret: false,
        },
      ];
    },
  };
}

/** A caBundle of these certificates. */
function bundle(...pems: readonly string[]): string {
  return base64(pems.map((pem) => `${pem.trim()}\n`).join(''));
}

function trustedAuthorities(configuration: StoredWebhookConfiguration): readonly X509Certificate[] {
  const annotations = configuration.metadata?.annotations ?? {};
  const other = Object.keys(OTHERS).find((annotation) => annotations[annotation] !== undefined);
  if (other !== undefined) throw new RotationError(`there is nothing to rotate here: ${OTHERS[other] ?? ''}`);
  const webhook = configuration.webhooks?.find(({ name }) => name === WEBHOOK_NAME);
  if (webhook === undefined) throw new RotationError(`the webhook configuration has no webhook ${WEBHOOK_NAME}`);
  const certificates = [...decoded(webhook.clientConfig?.caBundle).matchAll(PEM)]
    .map(([pem]) => parsed(pem))
    .filter((one) => one !== undefined);
  if (certificates.length === 0)
    throw new RotationError('the caBundle of the webhook configuration holds no certificate');
  return certificates;
}

function trusting(comment: string, configuration: StoredWebhookConfiguration, caBundle: string): string {
  const webhooks = configuration.webhooks?.map((webhook) =>
    webhook.name === WEBHOOK_NAME ? { ...webhook, clientConfig: { ...webhook.clientConfig, caBundle } } : webhook,
  );
  const { apiVersion, kind, metadata } = configuration;
  return createManifest(comment, { apiVersion, kind, metadata: withoutServerFields(metadata), webhooks }).toString({
    lineWidth: 0,
  });
}

function secretOf(
  comment: string,
  metadata: Metadata | undefined,
  { certificatePem, privateKeyPem }: Authority,
): string {
  const data = { 'ca.crt': base64(certificatePem), 'ca.key': base64(privateKeyPem) };
  const object = { apiVersion: 'v1', kind: 'Secret', metadata: withoutServerFields(metadata), type: 'Opaque', data };
  return createManifest(comment, object).toString({ lineWidth: 0 });
}

/** What a person writes of an object's metadata. What kubectl remembers there holds the old private key. */
function withoutServerFields({ name, namespace, labels, annotations }: Metadata = {}): Metadata {
  const own = Object.fromEntries(Object.entries(annotations ?? {}).filter(([key]) => key !== LAST_APPLIED));
  return {
    ...(name === undefined ? {} : { name }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(labels === undefined ? {} : { labels }),
    ...(Object.keys(own).length === 0 ? {} : { annotations: own }),
  };
}

function parsed(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}

function decoded(value: unknown): string {
  return typeof value === 'string' ? Buffer.from(value, 'base64').toString('utf8') : '';
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

import { parse } from 'yaml';
import { readPackageFile } from '../files/package-file.ts';

interface RegistrationOptions {
  readonly name?: string;
  readonly clientConfig: { readonly url: string; readonly caBundle: string };
  /** If the guard does not answer, `Fail` denies and `Ignore` allows. */
  readonly failurePolicy: 'Fail' | 'Ignore';
}

/** The webhook of the manifests, but at a URL instead of a Service. For the demo and tests. */
export function buildWebhookConfiguration({
  name = 'machineconfig-guard',
  clientConfig,
  failurePolicy,
}: RegistrationOptions) {
  const manifest = parse(readPackageFile('manifests/base/webhook.yaml')) as {
    readonly webhooks: readonly [{ readonly name: string; readonly timeoutSeconds: number }];
  };
  const webhook = { ...manifest.webhooks[0], clientConfig, failurePolicy };
  return { ...manifest, metadata: { name }, webhooks: [webhook] as const };
}

import { parse } from 'yaml';
import { readPackageFile } from '../../src/files/package-file.ts';

/** The webhook of the manifests, but at a URL instead of a Service. For the demo and tests. */
export function buildWebhookConfiguration(options: {
  readonly name?: string;
  readonly clientConfig: { readonly url: string; readonly caBundle: string };
  readonly failurePolicy: 'Fail' | 'Ignore';
}) {
  const { name = 'machineconfig-guard', clientConfig, failurePolicy } = options;
  const manifest = parse(readPackageFile('manifests/base/webhook.yaml')) as {
    readonly webhooks: readonly [
      { readonly name: string; readonly timeoutSeconds: number; readonly matchConditions: readonly object[] },
    ];
  };
  const webhook = { ...manifest.webhooks[0], clientConfig, failurePolicy };
  return { ...manifest, metadata: { name }, webhooks: [webhook] as const };
}

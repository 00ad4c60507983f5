import { isRecord, type KubeObject } from './kube-object.ts';
import type { Kind } from './kinds.ts';
import { matchCondition, type MatchCondition } from './match-condition.ts';
import { invalid } from './status-error.ts';

/** Where a webhook listens. */
export type Endpoint =
  | { readonly url: string }
  | {
      readonly service: {
        readonly name: string;
        readonly namespace: string;
        readonly path: string;
        readonly port: number;
      };
    };

/** One webhook of a ValidatingWebhookConfiguration, as far as deletions need it. */
export interface Webhook {
  readonly name: string;
  readonly endpoint: Endpoint;
  /** PEM; undefined trusts the system's authorities, as the API server does with an empty caBundle. */
  readonly ca: string | undefined;
  readonly failurePolicy: 'Fail' | 'Ignore';
  readonly sideEffects: string;
  readonly timeoutSeconds: number;
  /** Is this a deletion that the webhook wants to see, going by its rules alone? */
  readonly concerns: (kind: Kind, version: string) => boolean;
  readonly conditions: readonly MatchCondition[];
}

/** The webhooks of a stored configuration, in its order. */
export function webhooksOf(configuration: KubeObject): Webhook[] {
  return listOf(configuration['webhooks']).map((webhook) => {
    const clientConfig = recordOf(webhook['clientConfig']);
    const caBundle = text(clientConfig['caBundle'], '');
    return {
      name: text(webhook['name'], ''),
      endpoint: endpointOf(clientConfig),
      ca: caBundle === '' ? undefined : Buffer.from(caBundle, 'base64').toString('utf8'),
      failurePolicy: webhook['failurePolicy'] === 'Ignore' ? 'Ignore' : 'Fail',
      sideEffects: text(webhook['sideEffects'], ''),
      timeoutSeconds: typeof webhook['timeoutSeconds'] === 'number' ? webhook['timeoutSeconds'] : 10,
      concerns: (kind, version) => listOf(webhook['rules']).some((rule) => ruleMatches(rule, kind, version)),
      conditions: listOf(webhook['matchConditions']).map(
        ({ expression }) => matchCondition(text(expression, '')) ?? (() => true),
      ),
    };
  });
}

/**
 * Validates a configuration before it is stored (kubernetes, apis/admissionregistration/validation), and refuses loudly what
 * the sandbox cannot honour: a registration that works here must not mean something else in a cluster. Throws a 422.
 */
export function checkWebhookConfiguration(kind: Kind, configuration: KubeObject): void {
  const refuse = (why: string): never => {
    throw invalid(kind, configuration.metadata.name, why);
  };
  const names = new Set<string>();
  for (const [index, webhook] of listOf(configuration['webhooks']).entries()) {
    const where = `webhooks[${index}]`;
    const name = text(webhook['name'], '');
    if (name.split('.').length < 3)
      refuse(`${where}.name: "${name}": should be a domain with at least three segments separated by dots`);
    if (names.has(name)) refuse(`${where}.name: Duplicate value: "${name}"`);
    names.add(name);
    const clientConfig = recordOf(webhook['clientConfig']);
    if ((clientConfig['url'] === undefined) === (clientConfig['service'] === undefined)) {
      refuse(`${where}.clientConfig: exactly one of url or service is required`);
    }
    if (clientConfig['url'] !== undefined && !text(clientConfig['url'], '').startsWith('https://')) {
      refuse(`${where}.clientConfig.url: 'https' is the only allowed URL scheme`);
    }
    if (!['None', 'NoneOnDryRun'].includes(text(webhook['sideEffects'], ''))) {
      refuse(`${where}.sideEffects: must be None or NoneOnDryRun`);
    }
    const versions: unknown = webhook['admissionReviewVersions'];
    if (!Array.isArray(versions) || !versions.includes('v1'))
      refuse(`${where}.admissionReviewVersions: must include v1`);
    const timeout: unknown = webhook['timeoutSeconds'] ?? 10;
    if (typeof timeout !== 'number' || timeout < 1 || timeout > 30) {
      refuse(`${where}.timeoutSeconds: the timeout value must be between 1 and 30 seconds`);
    }
    for (const rule of listOf(webhook['rules'])) {
      const operations = rule['operations'];
      if (!Array.isArray(operations) || operations.some((operation) => operation !== 'DELETE')) {
        refuse(`${where}.rules: the sandbox calls webhooks for DELETE only`);
      }
    }
    for (const selector of ['objectSelector', 'namespaceSelector']) {
      if (Object.keys(recordOf(webhook[selector])).length > 0) refuse(`${where}.${selector}: the sandbox has none`);
    }
    for (const { expression } of listOf(webhook['matchConditions'])) {
      if (matchCondition(text(expression, '')) === undefined) {
        refuse(`${where}.matchConditions: the sandbox does not know the expression ${JSON.stringify(expression)}`);
      }
    }
  }
}

function ruleMatches(rule: Record<string, unknown>, kind: Kind, version: string): boolean {
  const includes = (field: string, value: string): boolean => {
    const values = rule[field];
    return Array.isArray(values) && (values.includes('*') || values.includes(value));
  };
  const scope = rule['scope'] ?? '*';
  return (
    includes('apiGroups', kind.group) &&
    includes('apiVersions', version) &&
    includes('operations', 'DELETE') &&
    includes('resources', kind.resource) &&
    (scope === '*' || scope === (kind.namespaced ? 'Namespaced' : 'Cluster'))
  );
}

function endpointOf(clientConfig: Record<string, unknown>): Endpoint {
  if (clientConfig['service'] === undefined) return { url: text(clientConfig['url'], '') };
  const service = recordOf(clientConfig['service']);
  return {
    service: {
      name: text(service['name'], ''),
      namespace: text(service['namespace'], ''),
      path: text(service['path'], ''),
      port: typeof service['port'] === 'number' ? service['port'] : 443,
    },
  };
}

function listOf(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

function recordOf(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}

function text(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? value : otherwise;
}

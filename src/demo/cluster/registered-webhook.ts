import type { Kind } from './kinds.ts';
import type { KubeObject } from './kube-object.ts';
import { invalid } from './status-error.ts';

export interface RegisteredWebhook {
  readonly name: string;
  readonly clientConfig: { readonly url?: string; readonly caBundle?: string };
  readonly rules: readonly { readonly operations: readonly string[]; readonly resources: readonly string[] }[];
  readonly matchConditions?: readonly { readonly expression: string }[];
  readonly failurePolicy: 'Fail' | 'Ignore';
  readonly timeoutSeconds: number;
}

const NAME_STARTS_WITH = /^oldObject\.metadata\.name\.startsWith\("(?<prefix>[a-z0-9.-]*)"\)$/;

/** @throws StatusError 422 if the in-memory cluster cannot call one of them */
export function parseWebhooks(configuration: KubeObject): readonly RegisteredWebhook[] {
  const webhooks = (configuration['webhooks'] ?? []) as readonly RegisteredWebhook[];
  for (const { name, clientConfig, rules, matchConditions = [] } of webhooks) {
    const isSupported =
      clientConfig.url?.startsWith('https://') === true &&
      rules.every(({ operations }) => operations.join() === 'DELETE') &&
      matchConditions.every(({ expression }) => NAME_STARTS_WITH.test(expression));
    if (!isSupported) throw invalid(`${name}: the in-memory cluster has only webhooks like that of the guard`);
  }
  return webhooks;
}

export function matchesWebhook({ rules, matchConditions = [] }: RegisteredWebhook, kind: Kind, name: string): boolean {
  return (
    rules.some(({ resources }) => resources.includes(kind.resource)) &&
    matchConditions.every(({ expression }) => name.startsWith(NAME_STARTS_WITH.exec(expression)?.[1] ?? ''))
  );
}

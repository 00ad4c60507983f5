import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { parse } from 'yaml';

const COMPONENTS = fileURLToPath(new URL('../../../manifests/components', import.meta.url));

/** The manifests with alerts: of the guard's own metrics, and of the API server's. */
export const RULE_FILES = [
  `${COMPONENTS}/monitoring/prometheus-rule.yaml`,
  `${COMPONENTS}/platform-alert/alerting-rule.yaml`,
] as const;

/** An alerting rule of Prometheus. */
export interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly namespace: string; readonly severity: string };
  readonly annotations: {
    readonly summary: string;
    readonly description: string;
    readonly runbook_url: string;
  };
}

/** The alerts of a PrometheusRule or AlertingRule. */
export async function alertingRules(file: string): Promise<readonly Alert[]> {
  const { spec } = parse(await readFile(file, 'utf8')) as {
    readonly spec: { readonly groups: readonly { readonly rules: readonly Alert[] }[] };
  };
  return spec.groups.flatMap(({ rules }) => rules);
}

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { MANIFESTS } from '../support/overlays.ts';

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly namespace: string; readonly severity: string };
  readonly annotations: Readonly<Record<'summary' | 'description' | 'runbook_url', string>>;
}

/** The alerts on the guard's own metrics, then those on metrics of the API server. */
export const ALERTS = ['monitoring/prometheus-rule.yaml', 'platform-alert/alerting-rule.yaml'].flatMap((file) => {
  const { spec } = parse(readFileSync(join(MANIFESTS, 'components', file), 'utf8')) as {
    readonly spec: { readonly groups: readonly { readonly rules: readonly Alert[] }[] };
  };
  return spec.groups.flatMap(({ rules }) => rules);
});

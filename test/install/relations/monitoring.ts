import type { V1ClusterRole, V1Secret } from '@kubernetes/client-node';
import request from 'supertest';
import { expect } from 'vitest';
import { DEFAULT_TIMING } from '../../../src/kube/reflector.ts';
import type { ApiRequest } from '../../../src/kube/api.ts';
import { createMetricsApp } from '../../../src/serving/metrics-app.ts';
import { ALLOWED_TTL_MS, ScrapeAuthorizer } from '../../../src/serving/scrape-authorizer.ts';
import { CODE_DESCRIPTIONS } from '../../../src/api/codes.ts';
import { MODES } from '../../../src/api/settings.ts';
import type { Expiry } from '../../../src/certificates/key-pair.ts';
import { WEBHOOK_NAME } from '../../../src/install/webhook-configuration.ts';
import type { Outcome } from '../../../src/review/verdict.ts';
import { findAll, listPanels, readTableRows } from '../../docs/pages.ts';
import { memoryLog } from '../../support/log.ts';
import { type Installed, type Relation, required, sendOnce } from './relation.ts';

const PAGE_ROWS = readTableRows('docs/monitoring.md');
/** A test compares this page with what the guard exports. */
const METRIC_NAMES = new Set(
  PAGE_ROWS.filter(([name]) => name?.startsWith('`')).map(([name = '', type]) => {
    return name.replaceAll('`', '') + (type === 'histogram' ? '_bucket' : '');
  }),
);
const LABEL_VALUES = [
  ...Object.keys(CODE_DESCRIPTIONS).map((code) => `code="${code}"`),
  ...MODES.map((mode) => `mode="${mode}"`),
  ...['true', 'false'].map((value) => `dry_run="${value}"`),
  ...(['denied', 'allowed'] satisfies Outcome[]).map((verdict) => `verdict="${verdict}"`),
  ...(['serving', 'authority'] satisfies Expiry['certificate'][]).map((each) => `certificate="${each}"`),
];
/** Each counter with its selectors. With "no_error", the guard itself has denied. */
const FAILED_CALLS = [
  `apiserver_admission_webhook_fail_open_count{name="${WEBHOOK_NAME}"}`,
  `apiserver_admission_webhook_rejection_count{name="${WEBHOOK_NAME}",error_type!="no_error"}`,
];
const UNITS: Readonly<Record<string, readonly [seconds: number, name: string]>> = {
  s: [1, 's'],
  m: [60, 'minutes'],
  h: [3_600, 'h'],
  d: [86_400, 'days'],
};

/** Of the ServiceMonitor and of the guard's Service. A set of monitoring has no Service. */
const SERVICE_NAME = 'machineconfig-guard';
const TOKEN = 'token';
/** OpenShift's service CA writes its certificate into an object with this annotation. */
const INJECTION = 'service.beta.openshift.io/inject-cabundle';

export const MONITORING_RELATIONS: readonly Relation[] = [
  {
    rule: 'Prometheus scrapes the path of the metrics, at a port of the Service, with TLS and a token',
    check: async (installed) => {
      const [service] = installed.list('Service');
      const ports = service?.spec?.ports?.map(({ name }) => name);
      for (const { spec, metadata } of listMonitors(installed)) {
        const [endpoint, ...others] = spec.endpoints;
        expect(others).toEqual([]);
        expect(ports).toContain(endpoint.port);
        expect(endpoint.scheme).toBe('https');
        expect((await scrape(endpoint.path)).status).toBe(200);
        expect(service?.metadata.namespace).toBe(metadata.namespace);
        expect(service?.metadata.labels).toMatchObject(spec.selector.matchLabels);
        const { name, namespace } = required(service).metadata;
        expect(endpoint.tlsConfig.serverName).toBe(`${name}.${namespace}.svc`);
      }
    },
  },
  {
    rule: 'the token of Prometheus is one of a service account that may do what the guard asks for, and nothing else',
    check: async (installed) => {
      const role = installed.list('ClusterRole').find(({ metadata }) => metadata.name.endsWith('-metrics'));
      const binding = installed.list('ClusterRoleBinding').find(({ roleRef }) => roleRef.name === role?.metadata.name);
      const { access } = await scrape('/metrics');
      const { path, verb } = access.nonResourceAttributes;
      const rules = [{ nonResourceURLs: [path], verbs: [verb] }];
      expect((role as V1ClusterRole).rules).toEqual(rules);
      for (const { spec } of listMonitors(installed)) {
        const { name, key } = spec.endpoints[0].authorization.credentials;
        const secret = installed.list('Secret').find(({ metadata }) => metadata.name === name);
        expect((secret as V1Secret).type).toBe('kubernetes.io/service-account-token');
        // The control plane puts the token under this key.
        expect(key).toBe('token');
        const account = secret?.metadata.annotations?.['kubernetes.io/service-account.name'];
        const { namespace } = required(secret).metadata;
        expect(binding?.subjects).toEqual([{ kind: 'ServiceAccount', name: account, namespace }]);
        const accounts = installed.list('ServiceAccount').map(({ metadata }) => metadata.name);
        expect(accounts).toContain(account);
      }
    },
  },
  {
    rule: 'Prometheus verifies the certificate with a bundle that the set contains or the installation has',
    check: (installed) => {
      for (const { spec } of listMonitors(installed)) {
        const { configMap, secret } = spec.endpoints[0].tlsConfig.ca;
        const bundle = installed.list('ConfigMap').find(({ metadata }) => metadata.name === configMap?.name);
        const authorities = installed.list('Certificate').map((certificate) => certificate.spec.secretName);
        const guards = installed.list('Secret').map(({ metadata }) => metadata.name);
        if (configMap !== undefined) expect(bundle?.metadata.annotations).toEqual({ [INJECTION]: 'true' });
        else expect([...authorities, ...guards]).toContain(secret?.name);
        // OpenShift's service CA, cert-manager and render.
        expect((configMap ?? secret)?.key).toBe(configMap === undefined ? 'ca.crt' : 'service-ca.crt');
      }
    },
  },
  {
    rule: 'the guard remembers the token of Prometheus until after the next scrape',
    check: (installed) => {
      for (const { spec } of listMonitors(installed))
        expect(ALLOWED_TTL_MS).toBeGreaterThan(1_000 * toSeconds(spec.endpoints[0].interval));
    },
  },
  {
    rule: 'one failed scrape, and the second after it, reset no alert',
    check: (installed) => {
      for (const { spec } of listMonitors(installed)) {
        const seconds = Number.parseInt(spec.endpoints[0].interval, 10);
        expect(spec.endpoints[0].interval).toBe(`${seconds}s`);
        expect(5 * 60).toBeGreaterThanOrEqual(3 * seconds);
      }
    },
  },
  {
    rule: 'each alert and panel reads metrics, and values of their labels, that the guard exports',
    check: (installed) => {
      const all = [...installed.panelExpressions, ...installed.alerts.map(({ expr }) => expr)];
      for (const expr of all.filter((each) => !each.includes('apiserver_'))) {
        expect(findAll(expr, /((?:mcguard|process)_\w+)/g).filter((name) => !METRIC_NAMES.has(name))).toEqual([]);
        for (const [, label = '', , value = ''] of expr.matchAll(/(\w+)(!?=~?)"([^"]*)"/g)) {
          if (label === 'job') continue;
          for (const each of value.split('|')) expect(LABEL_VALUES, expr).toContain(`${label}="${each}"`);
        }
      }
    },
  },
  {
    // increase() and rate() need two samples, and one scrape may fail.
    rule: 'each window contains three scrapes',
    check: (installed) => {
      const intervals = listMonitors(installed).map(({ spec }) => toSeconds(spec.endpoints[0].interval));
      const all = [...installed.panelExpressions, ...installed.alerts.map(({ expr }) => expr)];
      const windows = all.flatMap((expr) => findAll(expr, /\[(\w+)\]/g));
      expect(windows.length).toBeGreaterThan(0);
      for (const window of windows) expect(toSeconds(window)).toBeGreaterThanOrEqual(3 * Math.max(...intervals));
    },
  },
  {
    rule: 'the texts of each alert say the times of its expression',
    check: ({ alerts }) => {
      for (const { alert, expr, for: delay, annotations } of alerts) {
        const text = Object.values(annotations).join(' ');
        const isReported = annotations['description']?.includes('$value') === true;
        const windows = [
          ...findAll(expr, /increase\([^[]*\[(\w+)\]/g),
          ...(isReported || delay === undefined ? [] : [delay]),
        ];
        const times = new Set(windows.filter((each) => each !== '1d' && each !== '3d'));
        for (const time of times) expect(text, alert).toContain(spellTime(time));
      }
    },
  },
  {
    rule: 'an alert waits less than a day, and longer than a failed scrape, before it tells somebody',
    check: ({ alerts }) => {
      for (const { alert, for: delay = '0s' } of alerts) {
        const maxSeconds = alert === 'MachineConfigGuardNotEnforcing' ? 24 * 3_600 : 15 * 60;
        expect(toSeconds(delay), alert).toBeLessThanOrEqual(maxSeconds);
        if (toSeconds(delay) > 0) expect(toSeconds(delay), alert).toBeGreaterThanOrEqual(5 * 60);
      }
    },
  },
  {
    rule: 'the alerts of the platform are about calls of the webhook that failed',
    check: ({ alerts }) => {
      const platform = alerts.filter(({ expr }) => expr.includes('apiserver_'));
      expect(platform.length).toBeGreaterThan(0);
      for (const { expr } of platform) {
        const selectors = findAll(expr, /(apiserver_\w+\{[^}]*\})/g);
        expect(new Set(selectors).size).toBe(1);
        expect(FAILED_CALLS).toContain(selectors[0]);
        // The counter does not exist before its first event, which increase() misses.
        expect(expr).toMatch(/^sum\(increase\(.*\[15m\]\)\) > 0 or sum\(\S+ unless \S+ offset 15m\) > 0$/);
      }
    },
  },
  {
    rule: 'the end of a certificate is shown and compared as the time that is left',
    check: (installed) => {
      const all = [...installed.panelExpressions, ...installed.alerts.map(({ expr }) => expr)];
      for (const expr of all.filter((each) => each.includes('_timestamp_seconds')))
        for (const part of expr.split(' or '))
          expect(part).toMatch(/^min by \(certificate\) \(.*\) - time\(\)(?: < [\d *]+)?$/);
    },
  },
  {
    rule: 'the alert of a stale watch fires only after the guard has tried to watch again',
    check: (installed) => {
      const [, seconds] = /> (\d+)$/.exec(installed.alert('MachineConfigGuardIndexStale').expr) ?? [];
      const { silenceMs, backoffMs, requestMs } = DEFAULT_TIMING;
      expect(Number(seconds) * 1_000).toBeGreaterThan(silenceMs + backoffMs[1] + requestMs);
    },
  },
  {
    rule: 'every quantile of the dashboard is of buckets, and its job is the one of the Service',
    check: ({ panelExpressions: expressions }) => {
      const quantiles = expressions.filter((expr) => expr.includes('quantile'));
      expect(quantiles.length).toBeGreaterThan(0);
      for (const expr of quantiles)
        expect(expr).toMatch(/^histogram_quantile\(0\.\d+, sum by \(le, \w+\) \(rate\(\w+_bucket\[5m\]\)\)\)$/);
      for (const [, job] of expressions.join('\n').matchAll(/job="([^"]*)"/g)) expect(job).toBe(SERVICE_NAME);
    },
  },
  {
    rule: 'the legend of each panel has the labels and the quantile of its query, and the title its window',
    check: ({ dashboard }) => {
      for (const { title, targets } of listPanels(dashboard)) {
        for (const { expr, legendFormat } of targets) {
          const labels = findAll(expr, / by \(([^)]*)\)/g).flatMap((text) => text.replace('le, ', '').split(', '));
          const quantile = findAll(expr, /_quantile\(([\d.]+)/g).map((share) => `p${100 * Number(share)}`);
          const legend = [...quantile, ...labels.map((label) => `{{${label}}}`)];
          // Each replica has its own memory.
          const expected = expr.startsWith('process_') ? '{{pod}}' : legend.join(' ');
          if (expected !== '' || legendFormat.includes('{')) expect(legendFormat).toBe(expected);
          for (const window of findAll(expr, /^sum.*\[(\w+)\]/g)) expect(title).toContain(` in ${spellTime(window)}`);
          // Each replica exports every gauge of the cluster, and counts its own answers.
          const counted = /^sum(?: by \([^)]*\) )?\(increase\(\w+_total\[\w+\]\)\)$/;
          expect(expr).toMatch(expr.includes('_total') ? counted : /^(?:count|histogram_quantile|max|min|process_)/);
        }
      }
    },
  },
  {
    rule: 'only counters are added up over the replicas, and of their gauges the worst counts',
    check: ({ panelExpressions, alerts }) => {
      for (const expr of [...panelExpressions, ...alerts.map((alert) => alert.expr)]) {
        for (const added of findAll(expr, /\bsum(?: by \([^)]*\) )?\((\w+)/g))
          expect(added, expr).toMatch(/^(?:increase|rate|apiserver_\w+_count)$/);
        const isWorst = (gauge: string) => (gauge.endsWith('_timestamp_seconds') ? 'min' : 'max');
        for (const [, choice, gauge = ''] of expr.matchAll(/\b(max|min)\b[^{[]*?(\w+_\w+)(?=[)[{])/g))
          expect(choice, expr).toBe(isWorst(gauge));
      }
    },
  },
  {
    rule: 'every alert is of the namespace of the guard, so that OpenShift routes it to those who run it',
    check: (installed) => {
      const [service] = installed.list('Service');
      expect(service?.metadata.name).toBe(SERVICE_NAME);
      for (const { labels } of installed.alerts) expect(labels['namespace']).toBe(service?.metadata.namespace);
    },
  },
];

/** Seconds of a duration with one unit. */
function toSeconds(duration: string): number {
  const [, count = '', unit = ''] = /^(\d+)([smhd])$/.exec(duration) ?? [];
  return Number(count) * (UNITS[unit]?.[0] ?? Number.NaN);
}

/** As the texts of the alerts spell a duration. */
function spellTime(duration: string): string {
  return `${Number.parseInt(duration, 10)} ${UNITS[duration.slice(-1)]?.[1]}`;
}

function listMonitors(installed: Installed) {
  const monitors = installed.list('ServiceMonitor');
  // Those of service-ca, of the generated certificates and of cert-manager, rendered and as overlays.
  expect(monitors.length).toBeGreaterThan(3);
  return monitors;
}

/** Scrapes with a token that the API server accepts. Returns what the guard asks about its owner, too. */
const scrape = sendOnce(async (path) => {
  const requests: ApiRequest[] = [];
  const json = async (apiRequest: ApiRequest): Promise<unknown> => {
    requests.push(apiRequest);
    return await Promise.resolve({ status: { authenticated: true, user: { username: 'x' }, allowed: true } });
  };
  const metrics = { scrape: async () => await Promise.resolve({ text: 'x 1\n', contentType: 'text/plain' }) };
  const app = createMetricsApp({ metrics, authorizer: new ScrapeAuthorizer({ json }), log: memoryLog().log });
  const { status } = await request(app).get(path).set('authorization', `Bearer ${TOKEN}`);
  const { spec } = (requests.at(-1)?.body ?? {}) as {
    readonly spec: { nonResourceAttributes: Record<string, string> };
  };
  return { status, access: spec };
});

import type { V1ClusterRole, V1Secret } from '@kubernetes/client-node';
import request from 'supertest';
import { expect } from 'vitest';
import { DEFAULT_TIMING } from '../../../src/kube/reflector.ts';
import type { ApiRequest } from '../../../src/kube/api.ts';
import { createMetricsApp } from '../../../src/serving/metrics-app.ts';
import { ScrapeAuthorizer } from '../../../src/serving/scrape-authorizer.ts';
import { readFile } from '../../docs/pages.ts';
import { memoryLog } from '../../support/log.ts';
import { DASHBOARD } from '../rendered-sets.ts';
import { type Installed, type Relation, required } from './relation.ts';

/** Of the ServiceMonitor and of the guard's Service. A set of monitoring has no Service. */
const SERVICE_NAME = 'machineconfig-guard';
const TOKEN = 'token';

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
        expect(binding?.subjects).toMatchObject([{ kind: 'ServiceAccount', name: account }]);
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
        if (configMap !== undefined) expect(bundle?.metadata.annotations).toBeDefined();
        else expect([...authorities, ...guards]).toContain(secret?.name);
        // OpenShift's service CA, cert-manager and render.
        expect((configMap ?? secret)?.key).toBe(configMap === undefined ? 'ca.crt' : 'service-ca.crt');
      }
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
    rule: 'the alert of a stale watch fires only after the guard has tried to watch again',
    check: (installed) => {
      const [, seconds] = /> (\d+)$/.exec(installed.alert('MachineConfigGuardIndexStale').expr) ?? [];
      const { silenceMs, backoffMs, requestMs } = DEFAULT_TIMING;
      expect(Number(seconds) * 1_000).toBeGreaterThan(silenceMs + backoffMs[1] + requestMs);
    },
  },
  {
    rule: 'every quantile of the dashboard is of buckets, and its job is the one of the Service',
    check: () => {
      const { rows } = JSON.parse(readFile(DASHBOARD)) as {
        readonly rows: readonly { readonly panels: readonly { readonly targets: readonly { expr: string }[] }[] }[];
      };
      const expressions = rows
        .flatMap(({ panels }) => panels.flatMap(({ targets }) => targets))
        .map(({ expr }) => expr);
      const quantiles = expressions.filter((expr) => expr.includes('quantile'));
      expect(quantiles.length).toBeGreaterThan(0);
      for (const expr of quantiles)
        expect(expr).toMatch(/^histogram_quantile\(0\.\d+, sum by \(le, \w+\) \(rate\(\w+_bucket\[5m\]\)\)\)$/);
      for (const [, job] of expressions.join('\n').matchAll(/job="([^"]*)"/g)) expect(job).toBe(SERVICE_NAME);
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

function listMonitors(installed: Installed) {
  const monitors = installed.list('ServiceMonitor');
  // Those of service-ca, of the generated certificates and of cert-manager, rendered and as overlays.
  expect(monitors.length).toBeGreaterThan(3);
  return monitors;
}

/** Scrapes with a token that the API server accepts. Returns what the guard asks about its owner, too. */
async function scrape(path: string) {
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
}

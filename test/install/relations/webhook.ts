import { parse as parseExpression } from '@marcbachmann/cel-js';
import request from 'supertest';
import { expect } from 'vitest';
import { INSTALLED_NAME } from '../../../src/api/paths.ts';
import {
  ADMISSION_POLICIES,
  findInjector,
  MATCH_CONDITION,
  WEBHOOK_NAME,
} from '../../../src/install/webhook-configuration.ts';
import { MACHINE_CONFIGS_PATH, MCO_GROUP } from '../../../src/mco/api-paths.ts';
import { isRenderedConfig, toConfigName } from '../../../src/mco/machine-config.ts';
import { computeDeadlineMs, createAdmissionApp } from '../../../src/review/admission-app.ts';
import { DEFAULT_SETTINGS } from '../../../src/api/settings.ts';
import { memoryLog } from '../../support/log.ts';
import { allowUnused, reviewBody } from '../../support/review.ts';
import { type GuardSet, type Relation, required, sendOnce } from './relation.ts';

const HASH = '0123456789abcdef'.repeat(2);
const NAMES = [`rendered-worker-${HASH}`, 'rendered-x', '00-worker', 'not-rendered-x', '99-rendered-worker', 'render'];

export const WEBHOOK_RELATIONS: readonly Relation[] = [
  {
    rule: 'the guard answers the path of the webhook',
    checkGuard: async ({ webhook }) => expect(await post(webhook.clientConfig.service?.path ?? '')).toBe(200),
  },
  {
    rule: 'the guard decides at least a second before the API server gives up',
    checkGuard: ({ webhook: { timeoutSeconds } }) => {
      const timeoutMs = required(timeoutSeconds) * 1_000;
      expect(computeDeadlineMs(`${timeoutSeconds}s`)).toBeLessThanOrEqual(timeoutMs - 1_000);
      expect(timeoutMs).toBe(5_000);
    },
  },
  {
    rule: 'the API server calls the webhook at a port of the Service',
    checkGuard: (guard) => {
      const { metadata, spec } = guard.get('Service');
      const { name, namespace } = metadata;
      const [{ port } = { port: undefined }] = spec?.ports ?? [];
      expect(guard.webhook.clientConfig.service).toMatchObject({ name, namespace, port });
    },
  },
  {
    rule: 'the webhook and its configuration have the names that the commands look for',
    checkGuard: (guard) => {
      expect(guard.webhook.name).toBe(WEBHOOK_NAME);
      expect(guard.get('ValidatingWebhookConfiguration').metadata.name).toBe(INSTALLED_NAME);
    },
  },
  {
    rule: 'the API server sends deletions of MachineConfigs of any version, and nothing else',
    checkGuard: ({ webhook: { rules, matchPolicy, namespaceSelector, objectSelector } }) => {
      const resource = MACHINE_CONFIGS_PATH.split('/').at(-1);
      expect(rules).toEqual([
        {
          apiGroups: [MCO_GROUP],
          apiVersions: ['*'],
          operations: ['DELETE'],
          resources: [resource],
          scope: 'Cluster',
        },
      ]);
      expect({ matchPolicy, namespaceSelector, objectSelector }).toEqual({ matchPolicy: 'Equivalent' });
    },
  },
  {
    rule: 'the matchCondition selects the names that the guard takes for rendered configs',
    checkGuard: ({ name, webhook: { matchConditions } }) => {
      if (isForKubernetes127(name)) return expect(matchConditions).toBeUndefined();
      const [{ expression } = { expression: '' }, ...others] = required(matchConditions);
      // Another one would count as an alteration.
      expect(expression).toBe(MATCH_CONDITION);
      const matches = parseExpression(expression);
      const selected = NAMES.filter((config) => matches({ oldObject: { metadata: { name: config } } }));
      expect({ others, selected }).toEqual({
        others: [],
        selected: NAMES.filter((config) => isRenderedConfig(toConfigName(config))),
      });
    },
  },
  {
    // For a dry run, the guard writes no Event. With another value, the API server would reject every dry run.
    rule: 'the webhook has side effects, but none in a dry run',
    checkGuard: ({ webhook }) => expect(webhook.sideEffects).toBe('NoneOnDryRun'),
  },
  {
    rule: 'the guard understands the version of AdmissionReview',
    checkGuard: ({ webhook: { admissionReviewVersions } }) => {
      const { apiVersion } = reviewBody();
      expect(admissionReviewVersions).toEqual([apiVersion.split('/')[1]]);
    },
  },
  {
    rule: 'the webhook fails closed, except beside the policy floor, and where it would get source configs',
    checkGuard: (guard) => {
      const policies = new Set(guard.list('ValidatingAdmissionPolicy').map(({ metadata }) => metadata.name));
      const hasFloor = Object.values(ADMISSION_POLICIES).every((name) => policies.has(name));
      const isOpen = hasFloor || isForKubernetes127(guard.name);
      expect(guard.webhook.failurePolicy).toBe(isOpen ? 'Ignore' : 'Fail');
    },
  },
  {
    rule: 'the webhook trusts the issuer of the serving certificate',
    checkGuard: (guard) => {
      const injector = findInjector(guard.get('ValidatingWebhookConfiguration'));
      expect(guard.webhook.clientConfig.caBundle !== undefined).toBe(injector === undefined);
      expect(injector).toBe(findIssuer(guard));
      const { annotations = {} } = guard.get('ValidatingWebhookConfiguration').metadata;
      expect(annotations['service.beta.openshift.io/inject-cabundle'] ?? 'true').toBe('true');
    },
  },
  {
    rule: 'cert-manager injects the authority of the serving certificate',
    checkGuard: (guard) => {
      const { annotations = {} } = guard.get('ValidatingWebhookConfiguration').metadata;
      const source = annotations['cert-manager.io/inject-ca-from'];
      const serving = guard.list('Certificate').filter(({ spec }) => spec.isCA !== true);
      expect(serving.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)).toEqual(
        source === undefined ? [] : [source],
      );
    },
  },
];

/** Kubernetes 1.27 drops matchConditions. */
function isForKubernetes127(name: string): boolean {
  return name.includes('4.14');
}

/** Undefined if the guard issues its certificate itself. */
function findIssuer(guard: GuardSet): string | undefined {
  if (guard.list('Certificate').length > 0) return 'cert-manager';
  return guard.flags.has('tls-secret') ? undefined : 'service-ca';
}

const post = sendOnce(async (path) => {
  const app = createAdmissionApp({
    judge: { judge: allowUnused },
    settings: { settings: DEFAULT_SETTINGS },
    log: memoryLog().log,
    recorder: { record: () => {} },
    serving: { isDraining: false },
  });
  return (await request(app).post(path).send(reviewBody())).status;
});

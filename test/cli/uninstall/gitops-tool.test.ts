import { expect, test } from 'vitest';
import { findGitOpsTool } from '../../../src/cli/uninstall/gitops-tool.ts';
import { LABELS } from './guarded-cluster.ts';

const toManagers = (...managers: unknown[]) => ({ managedFields: managers.map((manager) => ({ manager })) });

test.each([
  [{ annotations: { 'argocd.argoproj.io/tracking-id': 'guard:x' } }, 'Argo CD'],
  [{ labels: { ...LABELS, 'app.kubernetes.io/instance': 'guard' } }, 'Argo CD'],
  [toManagers('kubectl', 'argocd-controller'), 'Argo CD'],
  [toManagers('config-policy-controller'), 'Advanced Cluster Management'],
  [toManagers('multicluster-operators-subscription'), 'Advanced Cluster Management'],
  [toManagers('work-agent'), 'Advanced Cluster Management'],
  [toManagers('klusterlet-agent'), 'Advanced Cluster Management'],
  [toManagers('kustomize-controller'), 'Flux'],
  [toManagers('helm-controller'), 'Flux'],
  [{ annotations: { 'apps.open-cluster-management.io/hosting-subscription': 'a/b' } }, 'Advanced Cluster Management'],
  [{ annotations: { 'policy.open-cluster-management.io/parent-policy': 'a' } }, 'Advanced Cluster Management'],
  [{ labels: { 'kustomize.toolkit.fluxcd.io/name': 'guard' } }, 'Flux'],
  [{ labels: LABELS, annotations: null, ...toManagers('kubectl-client-side-apply', undefined) }, null],
  [{ managedFields: [null] }, null],
  [undefined, null],
])('finds in %j the tool %s', (metadata, tool) => {
  expect(findGitOpsTool(metadata === undefined ? {} : { metadata })).toBe(tool);
});

import { expect } from 'vitest';
import { GUARDS_PATH } from '../../../src/api/paths.ts';
import { expandRule } from '../../support/rights.ts';
import { GUARD_RIGHTS } from './guard-rights.ts';
import { type GuardSet, type Relation, required } from './relation.ts';

/** Kubernetes and OpenShift add the rules of a role with such a label to their own. */
const AGGREGATION = 'rbac.authorization.k8s.io/aggregate-to-';
const OPENSHIFT_CONSTRAINTS = 'system:openshift:scc:';

export const RIGHT_RELATIONS: readonly Relation[] = [
  {
    rule: 'the roles of the guard allow what it does, by name where it knows the name, and nothing else',
    checkGuard: (guard) => {
      const hasConfigs = !guard.name.includes('no-machineconfig-access');
      const expected = GUARD_RIGHTS.filter((right) => hasConfigs || !/ machineconfigs\./.test(right));
      expect(listRights(guard).toSorted()).toEqual(expected);
    },
  },
  {
    rule: 'every role of the guard is bound to the service account of its pods, and to no other subject',
    checkGuard: (guard) => {
      const { namespace } = guard.get('Deployment').metadata;
      const name = required(guard.pod.serviceAccountName);
      const accounts = guard.list('ServiceAccount').map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
      expect(accounts).toContain(`${namespace}/${name}`);
      for (const { subjects } of listBindings(guard))
        expect(subjects).toEqual([{ kind: 'ServiceAccount', name, namespace }]);
    },
  },
  {
    rule: 'every binding has a role of its set, or a security context constraint of OpenShift',
    checkGuard: (guard) => {
      for (const { metadata, roleRef } of listBindings(guard)) {
        expect(roleRef.apiGroup).toBe('rbac.authorization.k8s.io');
        if (roleRef.name.startsWith(OPENSHIFT_CONSTRAINTS)) continue;
        const roles = [...guard.list('Role'), ...guard.list('ClusterRole')];
        const role = roles.find((each) => each.kind === roleRef.kind && each.metadata.name === roleRef.name);
        // A Role counts in its own namespace only.
        expect(role?.metadata.namespace).toBe(metadata.namespace);
      }
    },
  },
  {
    rule: 'the priority of API requests covers the reads of the guard, by the same account',
    checkGuard: (guard) => {
      const [schema] = guard.list('FlowSchema');
      if (schema === undefined) return expect(guard.name).toMatch(/4\.1[45]/);
      const [rules, ...others] = required(schema.spec?.rules);
      const { namespace } = guard.get('Deployment').metadata;
      expect(others).toEqual([]);
      const account = { name: guard.pod.serviceAccountName, namespace };
      expect(rules?.subjects).toEqual([{ kind: 'ServiceAccount', serviceAccount: account }]);
      const covered = required(rules?.resourceRules).flatMap(({ namespaces, clusterScope, ...rule }) => {
        expect(namespaces).toEqual(clusterScope === true ? ['*'] : [namespace]);
        return expandRule(rule, clusterScope === true ? undefined : namespace);
      });
      // A FlowSchema has no names of objects. Not every pair of a group and a resource exists.
      const reads = GUARD_RIGHTS.filter((right) => /^(?:get|list|watch) /.test(right));
      for (const read of reads) expect(covered).toContain(read.replace(/\/[\w-]+/, ''));
      expect(covered.every((right) => /^(?:get|list|watch) /.test(right))).toBe(true);
      expect(required(rules?.nonResourceRules)).toEqual([{ verbs: ['get'], nonResourceURLs: ['/apis', '/apis/*'] }]);
    },
  },
  {
    // 900 and 9000 are those of kube-system-service-accounts and service-accounts (kubernetes,
    // apiserver/pkg/apis/flowcontrol/bootstrap/default.go).
    rule: 'the priority of API requests applies before that of all service accounts, and after those of Kubernetes',
    checkGuard: (guard) => {
      for (const { spec } of guard.list('FlowSchema')) {
        expect(spec?.matchingPrecedence).toBeGreaterThan(900);
        expect(spec?.matchingPrecedence).toBeLessThan(9_000);
        expect(spec?.priorityLevelConfiguration).toEqual({ name: 'workload-high' });
        expect(spec?.distinguisherMethod).toEqual({ type: 'ByUser' });
      }
    },
  },
  {
    // An exec over a WebSocket is a GET, for which Kubernetes wants the verb create from 1.35 on.
    rule: 'the role of restore --from node/NAME suffices in each version of Kubernetes, and allows nothing else',
    check: (installed) => {
      const roles = installed.list('ClusterRole').filter(({ metadata }) => metadata.name.endsWith('-from-node'));
      expect(roles).not.toEqual([]);
      for (const { rules } of roles)
        expect(required(rules).flatMap((rule) => expandRule(rule))).toEqual([
          'list pods',
          'get pods/exec',
          'create pods/exec',
        ]);
    },
  },
  {
    rule: 'everybody who may view the cluster may read the settings and the status, and change neither',
    checkGuard: (guard) => {
      const aggregated = guard.list('ClusterRole').filter(({ metadata }) => {
        return Object.keys(metadata.labels ?? {}).some((label) => label.startsWith(AGGREGATION));
      });
      expect(aggregated).toHaveLength(1);
      for (const role of ['view', 'cluster-reader'])
        expect(aggregated[0]?.metadata.labels).toMatchObject({ [`${AGGREGATION}${role}`]: 'true' });
      const [, , group = '', , resource = ''] = GUARDS_PATH.split('/');
      expect(aggregated[0]?.rules).toEqual([
        { apiGroups: [group], resources: [resource], verbs: ['get', 'list', 'watch'] },
      ]);
    },
  },
];

function listBindings(guard: GuardSet) {
  const all = [...guard.list('RoleBinding'), ...guard.list('ClusterRoleBinding')];
  return all.filter(({ roleRef }) => roleRef.name !== 'machineconfig-guard-metrics');
}

/** Of all roles that are bound to the guard. */
function listRights(guard: GuardSet): readonly string[] {
  const roles = [...guard.list('Role'), ...guard.list('ClusterRole')];
  return listBindings(guard).flatMap(({ roleRef, metadata }) => {
    const role = roles.find((each) => each.kind === roleRef.kind && each.metadata.name === roleRef.name);
    return (role?.rules ?? []).flatMap((rule) => expandRule(rule, metadata.namespace));
  });
}

import { expect } from 'vitest';
import { DEFAULT_SETTINGS } from '../../../src/api/settings.ts';
import { FLAG_LABEL_PREFIX } from '../../../src/install/profiles.ts';
import { ADMISSION_POLICIES } from '../../../src/install/webhook-configuration.ts';
import { MCO_GROUP } from '../../../src/mco/api-paths.ts';
import { NODES, POOLS } from '../../../src/mco/resources.ts';
import { type Relation, required } from './relation.ts';

export const POLICY_RELATIONS: readonly Relation[] = [
  {
    rule: 'each policy has a binding with its name, and each binding a policy',
    check: (installed) => {
      for (const { name, objects } of installed.sets) {
        const namesOf = (kind: string) =>
          objects.filter((each) => each.kind === kind).map((each) => each.metadata.name);
        expect(namesOf('ValidatingAdmissionPolicyBinding'), name).toEqual(namesOf('ValidatingAdmissionPolicy'));
      }
      for (const { metadata, spec } of installed.list('ValidatingAdmissionPolicyBinding'))
        expect(spec?.policyName).toBe(metadata.name);
    },
  },
  {
    // In a cluster without pools, "Deny" would deny every deletion.
    rule: 'the policies of the floor check all nodes and pools, and allow the deletion where there are none',
    check: (installed) => {
      const policies = installed.list('ValidatingAdmissionPolicy');
      const floor = installed.list('ValidatingAdmissionPolicyBinding').filter(({ spec }) => spec?.paramRef);
      expect(new Set(floor.map(({ metadata }) => metadata.name))).toEqual(new Set(Object.values(ADMISSION_POLICIES)));
      for (const { spec } of floor) expect(spec?.paramRef).toEqual({ selector: {}, parameterNotFoundAction: 'Allow' });
      const kinds = new Map(
        policies
          .filter(({ metadata }) => Object.values(ADMISSION_POLICIES).includes(metadata.name))
          .map(({ metadata, spec }) => [metadata.name, spec?.paramKind]),
      );
      expect(Object.fromEntries(kinds)).toEqual({
        [required(ADMISSION_POLICIES.Node)]: { apiVersion: 'v1', kind: NODES.kind },
        [required(ADMISSION_POLICIES.MachineConfigPool)]: { apiVersion: `${MCO_GROUP}/v1`, kind: POOLS.kind },
      });
    },
  },
  {
    rule: 'what only protects the guard blocks nothing if its expression fails, and what protects a config does',
    check: (installed) => {
      const closed = new Set(
        ['overrides', 'settings', 'nodes', 'pools'].map((name) => `${name}.machineconfig-guard.io`),
      );
      for (const { metadata, spec } of installed.list('ValidatingAdmissionPolicy'))
        expect(spec?.failurePolicy, metadata.name).toBe(closed.has(metadata.name) ? 'Fail' : 'Ignore');
    },
  },
  {
    rule: 'the policy of the settings is about the user of the pods',
    checkGuard: (guard) => {
      const policy = guard
        .list('ValidatingAdmissionPolicy')
        .find(({ metadata }) => metadata.name.startsWith('settings'));
      if (policy === undefined) return expect(guard.name).toMatch(/4\.1[456]/);
      const { namespace } = guard.get('Deployment').metadata;
      const user = `system:serviceaccount:${namespace}:${guard.pod.serviceAccountName}`;
      expect(policy.spec?.matchConditions?.map(({ expression }) => expression)).toEqual([
        `request.userInfo.username == '${user}'`,
      ]);
    },
  },
  {
    rule: 'the guard creates the settings that its labels name, and the policy allows only those',
    checkGuard: (guard) => {
      const { labels = {} } = guard.get('Deployment').metadata;
      const [mode, hold] = ['mode', 'hold'].map((flag) => labels[FLAG_LABEL_PREFIX + flag]);
      const { flags } = guard;
      expect([flags.get('initial-mode'), flags.get('initial-hold')]).toEqual([mode, hold]);
      const policies = guard.list('ValidatingAdmissionPolicy');
      for (const { spec } of policies.filter(({ metadata }) => metadata.name.startsWith('settings')))
        expect(spec?.variables).toEqual([
          { name: 'mode', expression: `'${mode ?? DEFAULT_SETTINGS.mode}'` },
          { name: 'holdSuperseded', expression: `'${hold ?? ''}'` },
        ]);
    },
  },
];

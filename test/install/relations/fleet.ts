import { expect } from 'vitest';
import { GUARD_NAME, GUARDS_PATH } from '../../../src/api/paths.ts';
import { buildPolicy } from '../../../src/install/policy.ts';
import { findAll, readFile } from '../../docs/pages.ts';
import { RENDER_OPTIONS, type RenderedObject } from '../rendered-sets.ts';
import { writeLongStatus } from './long-status.ts';
import { type FleetObject, type Installed, type LabelSelector, type Relation, required } from './relation.ts';

const PAGE = readFile('docs/fleet/README.md');
const POLICIES = (['fail-closed', 'policy-floor'] as const).map((profile) => {
  const [{ objectName, content } = { objectName: '', content: '' }] = buildPolicy({ ...RENDER_OPTIONS, profile }).files;
  return { name: objectName, wave: Number(findAll(content, /deploy-wave: '(\d)'/g)[0]) };
});
const [GUARD, FLOOR] = POLICIES.map(({ name }) => name);
/** What the page says of a cluster with the label. */
const POLICIES_BY_LABEL = {
  enforce: [GUARD, 'mcguard-references', 'mcguard-enforce', 'mcguard-protection'],
  audit: [GUARD, 'mcguard-references', 'mcguard-audit'],
  floor: [FLOOR],
};
const NAMESPACED = /^(?:ClusterGroupUpgrade|ManagedClusterSetBinding|Placement|Policy)/;
const GROUP = 'open-cluster-management.io';
const { conditions } = (await writeLongStatus()) as { readonly conditions: readonly { readonly type: string }[] };

/** About the objects of docs/fleet. */
export const FLEET_RELATIONS: readonly Relation[] = [
  {
    rule: 'a cluster of a fleet gets the policies of its label, also while it is unreachable',
    check: (installed) => {
      const placements = listFleet(installed, 'Placement');
      const tolerations = ['unreachable', 'unavailable'].map((key) => ({
        key: `cluster.${GROUP}/${key}`,
        operator: 'Exists',
      }));
      for (const { spec } of placements) expect(spec.tolerations).toEqual(tolerations);
      for (const [label, policies] of Object.entries(POLICIES_BY_LABEL)) {
        const chosen = placements.filter(({ spec }) =>
          listLabels(required(spec.predicates)[0].requiredClusterSelector.labelSelector).includes(label),
        );
        const bindings = chosen.flatMap(({ metadata: { name } }) => {
          const placementRef = { apiGroup: `cluster.${GROUP}`, kind: 'Placement', name };
          return listFleet(installed, 'PlacementBinding').filter((each) => isEqual(each.placementRef, placementRef));
        });
        const subjects = policies.map((name) => ({ apiGroup: `policy.${GROUP}`, kind: 'Policy', name }));
        expect(bindings.flatMap((binding) => binding.subjects)).toEqual(subjects);
      }
    },
  },
  {
    rule: 'the objects of a fleet are in one namespace, to which the set of all clusters is bound',
    check: (installed) => {
      const [{ metadata } = { metadata: undefined }] = listFleet(installed, 'Namespace');
      for (const { kind, metadata: own } of installed.fleet)
        if (NAMESPACED.test(kind)) expect(own.namespace).toBe(metadata?.name);
      const [binding] = listFleet(installed, 'ManagedClusterSetBinding');
      expect(binding).toMatchObject({ metadata: { name: 'global' }, spec: { clusterSet: 'global' } });
      expect(PAGE).toContain(`oc apply -n ${metadata?.name} `);
    },
  },
  {
    rule: 'the policies of a fleet set the mode, or report what render installs and the guard writes',
    check: (installed) => {
      const findOverlay = (overlay: string) =>
        required(installed.guards.find(({ name }) => name === `overlays/${overlay}`));
      const guard = findOverlay('service-ca');
      const [, , group = '', version = '', plural] = GUARDS_PATH.split('/');
      const { names } = guard.get('CustomResourceDefinition').spec;
      expect(names.plural).toBe(plural);
      const settings = { apiVersion: `${group}/${version}`, kind: names.kind, metadata: { name: GUARD_NAME } };
      // Bare metal boots for longer than the default.
      const holdSuperseded = '24h';
      expect(PAGE).toContain(`(../operate.md#hold-what-may-be-booting) to ${holdSuperseded}`);
      const { name, failurePolicy, rules } = guard.webhook;
      const deployment = guard.get('Deployment');
      const { spec } = findOverlay('single-node').get('Deployment');
      const topology = '(eq (fromClusterClaim "controlplanetopology.openshift.io") "SingleReplica")';
      const replicas = `{{ ternary ${spec?.replicas} ${deployment.spec?.replicas} ${topology} | toInt }}`;
      const consistent = conditions.find(({ type }) => type === 'ReferencesConsistent');
      expect(listFleet(installed, 'Policy').map(describePolicy)).toEqual([
        ['mcguard-enforce', 'enforce', { ...settings, spec: { mode: 'Enforce', holdSuperseded } }],
        ['mcguard-audit', 'enforce', { ...settings, spec: { mode: 'Audit', holdSuperseded } }],
        [
          'mcguard-protection',
          'inform',
          { ...identify(guard.get('ValidatingWebhookConfiguration')), webhooks: [{ name, failurePolicy, rules }] },
          {
            ...identify(deployment),
            status: { replicas, updatedReplicas: replicas, availableReplicas: replicas },
          },
          { ...settings, spec: { mode: 'Enforce' } },
        ],
        [
          'mcguard-references',
          'inform',
          { ...settings, status: { conditions: [{ type: consistent?.type, status: 'True' }] } },
        ],
      ]);
    },
  },
  {
    rule: 'a roll-out changes canaries first, and continues when the guard protects them',
    check: (installed) => {
      const [upgrade] = listFleet(installed, 'ClusterGroupUpgrade');
      const { managedPolicies, clusterLabelSelectors = [], remediationStrategy } = required(upgrade).spec;
      expect(managedPolicies).toEqual([GUARD, 'mcguard-protection']);
      expect(clusterLabelSelectors.map(listLabels)).toEqual([['enforce', 'audit']]);
      expect(PAGE).toContain(`, then in ${remediationStrategy?.maxConcurrency} clusters at a time.`);
      expect(remediationStrategy?.canaries).toHaveLength(2);
      const annotations = listFleet(installed, 'Policy')
        .map(({ metadata }) => metadata.annotations)
        .find(Boolean);
      expect(Number(annotations?.['ran.openshift.io/ztp-deploy-wave'])).toBeGreaterThan(required(POLICIES[0]).wave);
      expect(annotations).toMatchObject({ 'ran.openshift.io/soak-seconds': '60' });
      expect(PAGE).toContain('has complied for a minute');
    },
  },
  {
    rule: 'the page installs the guard from the mirror to which the files of docs/fleet copy it',
    check: (installed) => {
      const [{ spec } = { spec: undefined }] = listFleet(installed, 'ImageDigestMirrorSet');
      const [{ source, mirrors } = { source: '', mirrors: [''] }] = spec?.imageDigestMirrors ?? [];
      const [{ mirror } = { mirror: undefined }] = listFleet(installed, 'ImageSetConfiguration');
      expect(mirror?.additionalImages).toEqual([{ name: expect.stringContaining(`${source}@sha256:`) as string }]);
      expect(new Set(findAll(PAGE, /--image (\S+)@/g))).toEqual(new Set(mirrors));
    },
  },
];

function listFleet(installed: Installed, kind: string): readonly FleetObject[] {
  const objects = installed.fleet.filter((each) => each.kind === kind);
  expect(objects).not.toEqual([]);
  return objects;
}

/** Its name and action, and the objects that it sets or wants. */
function describePolicy({ apiVersion, metadata: { name }, spec }: FleetObject): readonly unknown[] {
  const objects = required(spec['policy-templates']).flatMap(
    ({ objectDefinition: { spec: configuration, ...object } }) => {
      expect(object).toEqual({ apiVersion, kind: 'ConfigurationPolicy', metadata: { name } });
      return configuration['object-templates'].map(({ complianceType, objectDefinition }) => {
        // Another type removes fields.
        expect({ complianceType, disabled: spec.disabled }).toEqual({ complianceType: 'musthave', disabled: false });
        return objectDefinition;
      });
    },
  );
  return [name, spec.remediationAction, ...objects];
}

function identify({ apiVersion, kind, metadata: { name, namespace } }: RenderedObject): object {
  return { apiVersion, kind, metadata: { name, ...(namespace !== undefined && { namespace }) } };
}

/** The values of the label that a selector selects. */
function listLabels({ matchLabels, matchExpressions }: LabelSelector): readonly string[] {
  if (matchLabels !== undefined)
    return Object.entries(matchLabels).map(([key, value]) => (key === 'mcguard' ? value : key));
  expect(matchExpressions).toMatchObject([{ key: 'mcguard', operator: 'In' }]);
  return matchExpressions?.[0]?.values ?? [];
}

function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

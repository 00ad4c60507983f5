import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { buildInstallation } from '../../src/install/installation.ts';
import { ADMISSION_POLICY, FLOW_SCHEMA, MATCH_CONDITIONS } from '../../src/install/kubernetes-version.ts';
import { buildPolicy } from '../../src/install/policy.ts';
import { findAll } from '../docs/pages.ts';
import { RENDER_OPTIONS } from './rendered-sets.ts';
import { readField } from './read-field.ts';

const OPTIONS = { ...RENDER_OPTIONS, authority: undefined };

// TALM, controllers/utils/policy_util.go: StripObjectTemplatesRaw and InspectPolicyObjects. It accepts no other list.
test('without its templates, the Policy is a list of the objects of both topologies', () => {
  const [policy] = buildPolicy(OPTIONS).files;
  const path = 'spec.policy-templates.0.objectDefinition.spec.object-templates-raw';
  const template = String(readField(parse(policy?.content ?? ''), path));
  // From the first release of a version on, and from its previews.
  const versions = [FLOW_SCHEMA, ADMISSION_POLICY, MATCH_CONDITIONS].map((minor) => `>=1.${minor}.0-0`);
  expect(new Set(findAll(template, /semverCompare "(.+?)"/g))).toEqual(new Set(versions));

  const items = parse(template.replaceAll(/\{\{[^}]+\}\}/g, '')) as { readonly objectDefinition: unknown }[];

  const sets = [true, false].map((singleNode) => {
    return buildInstallation({ ...OPTIONS, singleNode, kubernetesVersion: 31 }).files;
  });
  const objects = new Set(sets.flat().map(({ content }) => content));
  // Both topologies have the same objects, and one is different: the Deployment.
  expect(objects.size).toBe(sets[0]!.length + 1);
  expect(items).toHaveLength(objects.size);
  for (const object of objects) {
    expect(items).toContainEqual({ complianceType: 'musthave', objectDefinition: parse(object) as unknown });
  }
});

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { downloadModule } from '../../../build/schemas/go-modules.ts';
import { API, RELEASES } from '../../../build/schemas/sources.ts';
import { findProblems } from '../../../src/manifests/find-problems.ts';
import type { Code } from '../../../src/manifests/rules/rules.ts';
import { KindCatalog } from '../../../src/manifests/schemas.ts';

/** The tests of a CRD in openshift/api, which that repository runs with an API server. */
interface Suite {
  /** The file of the CRD, before 4.16. Its feature set is in its name in many forms. */
  readonly crd?: string;
  readonly featureGates?: readonly string[];
  readonly featureGate?: string;
  readonly tests?: { readonly onCreate?: readonly Case[] };
}

interface Case {
  readonly name: string;
  /** An object as YAML. */
  readonly initial: string;
  readonly expectedError?: string;
}

interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata?: object;
}

const CODES: ReadonlySet<Code> = new Set(['DuplicateEntry', 'InvalidValue', 'NotAString', 'UnknownField']);
const FEATURE_SETS = ['Default', 'TechPreviewNoUpgrade', 'DevPreviewNoUpgrade', 'CustomNoUpgrade'];
/**
 * What the bootstrap host or a plugin of OpenShift's API server rejects, and the API server of those tests does not.
 * And what only the operator writes.
 */
const SKIPPED: ReadonlySet<string> = new Set([
  'config.openshift.io/v1alpha1 ClusterImagePolicy',
  'config.openshift.io/v1alpha1 ImagePolicy',
  'authorization.openshift.io/v1 RoleBindingRestriction',
  'machineconfiguration.openshift.io/v1 ControllerConfig',
  'machineconfiguration.openshift.io/v1 KubeletConfig',
  'machineconfiguration.openshift.io/v1 MachineOSConfig',
  'quota.openshift.io/v1 ClusterResourceQuota',
  'security.openshift.io/v1 SecurityContextConstraints',
]);
/** An empty selector, which `minProperties` of a schema without properties does not reject here. */
const MISSED =
  'Should not be able to create CompatibilityRequirement with empty objectSchemaValidation.namespaceSelector';

async function listSuites(module: string): Promise<Suite[]> {
  const directory = await downloadModule(module);
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\/tests\/.*\.yaml$|\.testsuite\.yaml$/.test(name),
  );
  return names.map((name) => parse(readFileSync(path.join(directory, name), 'utf8'), { uniqueKeys: false }) as Suite);
}

/** What the check finds in an object in a cluster with a feature set. */
function judge(object: KubeObject, featureSet: string, release: string): string[] {
  const isNamespaced = KindCatalog.shared()
    .find(object.apiVersion, object.kind)
    .some((version) => version.isNamespaced);
  const metadata = { name: 'cluster', ...(isNamespaced && { namespace: 'default' }), ...object.metadata };
  const files = [{ path: 'a.yaml', content: Buffer.from(stringify({ ...object, metadata })) }];
  const input = { installer: undefined, hasFolders: true, files, installConfig: { featureSet } };
  const { problems } = findProblems(input, release);
  return problems.filter(({ code }) => CODES.has(code)).map(({ code, message }) => `${code}: ${message}`);
}

/**
 * The cases that a newer release has, too. They were judged with its schemas. A release whose schemas differ has other
 * cases, and `npm run schemas -- --check` compares every schema with its CRD.
 */
const judgedCases = new Set<string>();

// The newest one first. Those of 5.0 are those of 4.22.
test.each(RELEASES.filter(({ api, openshift }) => api !== undefined && openshift !== '5.0').toReversed())(
  'judges objects like the tests of the API of OpenShift $openshift',
  async ({ openshift: release, api }) => {
    const wrong: string[] = [];
    for (const { crd = '', featureGates = [], featureGate = '', tests } of await listSuites(`${API}@${api}`)) {
      const isGated = featureGates.length > 0 || featureGate !== '' || crd !== '';
      const sets = isGated ? FEATURE_SETS : ['Default'];
      for (const { name, initial, expectedError = '' } of tests?.onCreate ?? []) {
        const text = JSON.stringify([sets, initial, expectedError]);
        if (judgedCases.has(text)) continue;
        const object = parse(initial, { uniqueKeys: false }) as KubeObject;
        const versions = KindCatalog.shared().find(object.apiVersion, object.kind);
        if (versions.every(({ releases }) => !releases.includes(release))) continue;
        if (SKIPPED.has(`${object.apiVersion} ${object.kind}`) || name === MISSED) continue;
        judgedCases.add(text);
        const hasError = expectedError !== '';
        const isRight = sets.some((set) => judge(object, set, release).length > 0 === hasError);
        if (isRight) continue;
        const problem = hasError ? expectedError : judge(object, 'Default', release).join();
        wrong.push(`${object.kind}: ${name}: ${problem}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(judgedCases.size).toBeGreaterThan(0);
  },
);

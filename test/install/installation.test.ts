import { gzipSync } from 'node:zlib';
import { parse, parseAllDocuments, parseDocument } from 'yaml';
import { expect, test } from 'vitest';
import { buildInstallation, OWN_FILE_NAME } from '../../src/install/installation.ts';
import { everyInstallation } from './options.ts';

const SETS = everyInstallation().map((options) => buildInstallation(options).files);

/** What every API server serves before a single operator runs, and our own kind, whose definition is in the set. */
const KINDS_OF_AN_EMPTY_CLUSTER = [
  'Namespace',
  'CustomResourceDefinition',
  'ServiceAccount',
  'ClusterRole',
  'ClusterRoleBinding',
  'Role',
  'RoleBinding',
  'Secret',
  'Service',
  'Deployment',
  'PodDisruptionBudget',
  'NetworkPolicy',
  'FlowSchema',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
  'ValidatingWebhookConfiguration',
  'MachineConfigGuard',
];

test('each file has one object, which YAML 1.1 and YAML 1.2 read alike', () => {
  expect(SETS).toHaveLength(32);
  for (const { content } of SETS.flat()) {
    expect(parseAllDocuments(content)).toHaveLength(1);
    expect(parseDocument(content, { version: '1.1' }).errors).toEqual([]);
    const [older, newer] = [parse(content, { version: '1.1' }), parse(content, { version: '1.2' })] as unknown[];
    expect(older).toEqual(newer);
    expect(newer).toMatchObject({ apiVersion: expect.any(String), kind: expect.any(String) });
  }
});

test('a set weighs less than 32 KiB in an installer image', () => {
  const weights = SETS.map((files) => gzipSync(files.map(({ content }) => content).join('')).length);
  expect(Math.max(...weights)).toBeLessThan(32 * 1024);
});

test('only kinds that the first API server of an install serves', () => {
  expect(KINDS_OF_AN_EMPTY_CLUSTER).toEqual(expect.arrayContaining(SETS.flat().map(({ kind }) => kind)));
});

test('nothing that the Machine Config Operator takes as input', () => {
  const versions = new Set(SETS.flat().map(({ content }) => (parse(content) as { apiVersion: string }).apiVersion));
  expect([...versions].filter((version) => version.includes('openshift.io'))).toEqual([]);
  expect(versions).toContain('apps/v1');
});

test('names that an installer takes, each once, sorted as they depend on each other', () => {
  for (const files of SETS) {
    const names = files.map(({ name }) => name);
    for (const name of names) expect(name).toMatch(OWN_FILE_NAME);
    expect(new Set(names).size).toBe(names.length);
    expect(names.toSorted()).toEqual(names);
    expect(files[0]?.kind).toBe('Namespace');
    expect(names.findIndex((name) => name.includes('webhook'))).toBeGreaterThan(
      names.findIndex((name) => name.includes('deployment')),
    );
  }
});

test('keys are in one file alone, and that one is secret', () => {
  for (const files of SETS) {
    const withKey = files.filter(({ content }) =>
      content.includes(Buffer.from('-----BEGIN PRIVATE').toString('base64').slice(0, 20)),
    );
    expect(withKey.every(({ kind, secret }) => kind === 'Secret' && secret)).toBe(true);
    expect(files.filter(({ secret }) => secret)).toEqual(withKey);
  }
  expect(SETS.some((files) => files.some(({ secret }) => secret))).toBe(true);
});

test('the set is the same each time, apart from the keys', () => {
  for (const [index, options] of everyInstallation().entries())
    expect(buildInstallation(options).files).toEqual(SETS[index]);
});

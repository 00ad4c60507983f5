import { gzipSync } from 'node:zlib';
import { parseAllDocuments } from 'yaml';
import { expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { buildInstallation, isOwnFile } from '../../src/install/installation.ts';
import { needsRunningCluster, PROFILES } from '../../src/install/profiles.ts';
import { ALL_OPTIONS } from './rendered-sets.ts';

/** The API server serves these before any operator runs. The set contains our own CRD. */
const API_OF_AN_EMPTY_CLUSTER = /^(?:(?:apps|policy|[\w.]+\.k8s\.io)\/)?v1$|^machineconfig-guard\.io\//;

const KEY_START = Buffer.from('-----BEGIN PRIVATE').toString('base64').slice(0, 20);
const SETS = ALL_OPTIONS.map((options) => ({ ...options, ...buildInstallation(options) }));

test('a set has less than 32 KiB gzipped, and YAML 1.1 and 1.2 parse each file alike', () => {
  const sizes = SETS.map(({ files }) => gzipSync(files.map(({ content }) => content).join('')).length);
  expect(Math.max(...sizes)).toBeLessThan(32 * 1024);
  // Most files are the same in most sets.
  for (const content of new Set(SETS.flatMap(({ files }) => files.map((file) => file.content)))) {
    const [older, newer] = (['1.1', '1.2'] as const).map((version) =>
      parseAllDocuments(content, { version }).map((document) => {
        expect(document.errors).toEqual([]);
        return document.toJS() as object;
      }),
    );
    expect(older).toEqual(newer);
    expect(newer).toMatchObject([{ metadata: { labels: { 'app.kubernetes.io/version': packageJson.version } } }]);
    expect(content.match(/#.*(?:\.\.\/|\.(?:md|ts|yaml)\b)/g)).toBeNull();
  }
});

test('files sort objects after those that they need, and only some profiles need a running cluster', () => {
  for (const { files, profile, failurePolicy, previousAuthority } of SETS) {
    const names = files.map(({ name }) => name);
    const owners = PROFILES.filter((candidate) => names.some((name) => isOwnFile(name, candidate)));
    expect(owners).toEqual(failurePolicy === null ? [profile] : ['fail-closed', 'fail-open-with-floor']);
    expect(names.filter((name) => !isOwnFile(name, profile))).toEqual([]);
    expect([...new Set(names)].toSorted()).toEqual(names);
    const versions = files.map(({ content }) => /^apiVersion: (.*)$/m.exec(content)?.[1] ?? '');
    const isForAny = versions.every((version) => API_OF_AN_EMPTY_CLUSTER.test(version));
    expect(isForAny, profile).toBe(!needsRunningCluster(profile));
    const filesWithKey = files.filter(({ content }) => content.includes(KEY_START));
    expect(filesWithKey.every(({ kind }) => kind === 'Secret')).toBe(true);
    expect(files.filter(({ isPrivate }) => isPrivate)).toEqual(filesWithKey);
    if (failurePolicy === null) continue;
    const kinds = files.map(({ kind }) => kind);
    expect(kinds[0]).toBe('Namespace');
    // The API servers must trust a new authority first.
    const isAfter = kinds.indexOf('ValidatingWebhookConfiguration') > kinds.indexOf('Deployment');
    expect(isAfter).toBe(previousAuthority === undefined);
  }
});

import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CliError } from '../../src/client/exit.ts';
import type { ClusterFlags } from '../../src/client/cluster-options.ts';
import { loadConnection } from '../../src/client/kubeconfig.ts';

let home: string;

beforeEach(() => {
  home = mkdtempSync(path.join(tmpdir(), 'mcg-home-'));
});

afterEach(async () => {
  await rm(home, { recursive: true });
});

function writeKubeconfig(file: string, name: string, user: object = { token: 'the-secret-token' }) {
  const target = path.join(home, file);
  mkdirSync(path.dirname(target), { recursive: true });
  const kubeconfig = {
    'current-context': name,
    clusters: [{ name, cluster: { server: `https://${name}.example:6443` } }],
    users: [{ name, user }],
    contexts: [{ name, context: { cluster: name, user: name } }],
  };
  writeFileSync(target, JSON.stringify(kubeconfig).replaceAll('$HOME', home));
  return target;
}

function hostOf(options: ClusterFlags, env: Record<string, string> = {}) {
  return loadConnection(options, { HOME: home, ...env }).server.hostname;
}

test('loads the kubeconfig of --kubeconfig, else the files in KUBECONFIG, else ~/.kube/config', () => {
  const flag = writeKubeconfig('flag', 'flag');
  const KUBECONFIG = [writeKubeconfig('one', 'one'), writeKubeconfig('two', 'two')].join(path.delimiter);
  writeKubeconfig('.kube/config', 'home');
  expect(hostOf({ kubeconfig: flag }, { KUBECONFIG })).toBe('flag.example');
  expect(hostOf({}, { KUBECONFIG })).toBe('one.example');
  expect(hostOf({ context: 'two' }, { KUBECONFIG })).toBe('two.example');
  expect(hostOf({})).toBe('home.example');
});

function errorOf(options: ClusterFlags) {
  try {
    hostOf(options);
  } catch (error) {
    if (error instanceof CliError) return error.message;
    throw error;
  }
  throw new Error('there is no error');
}

test('throws one sentence if there is no kubeconfig', () => {
  expect(errorOf({})).toBe(
    `no cluster: neither --kubeconfig nor KUBECONFIG is set, and ${home}/.kube/config does not exist`,
  );
});

test('throws one sentence without the content for an absent file, a directory and garbage', () => {
  expect(errorOf({ kubeconfig: '/x' })).toBe('the kubeconfig /x (from --kubeconfig) does not exist');
  expect(errorOf({ kubeconfig: home })).toContain('is a directory');
  const garbage = path.join(home, 'garbage');
  writeFileSync(garbage, 'kind: Config\ntoken: the-secret-token: {[');
  expect(errorOf({ kubeconfig: garbage })).toMatch(/ is not valid YAML: line 2: [^:]+$/);
});

test('as kubectl, takes what several files define from the first one', () => {
  const KUBECONFIG = [writeKubeconfig('one', 'one'), writeKubeconfig('again', 'one', { token: 'other' })].join(
    path.delimiter,
  );
  expect(hostOf({}, { KUBECONFIG })).toBe('one.example');
});

test('impersonates a user and groups', async () => {
  const kubeconfig = writeKubeconfig('k', 'k');
  const { headers } = await loadConnection({ kubeconfig, as: 'alice', asGroup: ['a', 'b'] }, {}).credentials();
  expect(headers).toEqual({
    Authorization: 'Bearer the-secret-token',
    'Impersonate-User': 'alice',
    'Impersonate-Group': ['a', 'b'],
  });
});

test('throws one sentence for an unknown context, and for a file without a cluster', () => {
  const kubeconfig = writeKubeconfig('f', 'f');
  expect(errorOf({ kubeconfig, context: 'g' })).toBe('the kubeconfig has no context "g"; it has f');
  writeFileSync(kubeconfig, 'apiVersion: v1\nkind: Config\n');
  expect(errorOf({ kubeconfig })).toMatch(/^the kubeconfig/);
});

test.each<[string, object]>([
  ['tokenFile', { tokenFile: 'token' }],
  ['tokenFile beside a token', { tokenFile: 'token', token: 'old' }],
  ['an auth provider', { 'auth-provider': { name: 'tokenFile', config: { tokenFile: '$HOME/token' } } }],
])('reads the token of %s from its file, without the line break at its end', async (_title, user) => {
  writeFileSync(path.join(home, 'token'), 'abc\n');
  const kubeconfig = writeKubeconfig('k', 'k', user);
  const { headers } = await loadConnection({ kubeconfig }, {}).credentials();
  expect(headers).toEqual({ Authorization: 'Bearer abc' });
});

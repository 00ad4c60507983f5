import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadConnection, KubeconfigError } from '../../src/kube/connection.ts';

let home: string;

beforeEach(() => {
  home = mkdtempSync(path.join(tmpdir(), 'mcg-home-'));
});

afterEach(async () => {
  await rm(home, { recursive: true });
});

function writeKubeconfig(file: string, name: string): string {
  const target = path.join(home, file);
  mkdirSync(path.dirname(target), { recursive: true });
  writeFileSync(
    target,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': name,
      clusters: [{ name, cluster: { server: `https://${name}.example:6443` } }],
      users: [{ name, user: { token: 'the-secret-token' } }],
      contexts: [{ name, context: { cluster: name, user: name } }],
    }),
  );
  return target;
}

const hostOf = (options: { kubeconfig?: string; context?: string }, env: Record<string, string> = {}): string =>
  loadConnection(options, { HOME: home, ...env }).server.hostname;

describe('loads the kubeconfig', () => {
  test('of --kubeconfig, else of KUBECONFIG, else ~/.kube/config', () => {
    const flag = writeKubeconfig('flag', 'flag');
    const env = writeKubeconfig('env', 'env');
    writeKubeconfig('.kube/config', 'home');
    expect(hostOf({ kubeconfig: flag }, { KUBECONFIG: env })).toBe('flag.example');
    expect(hostOf({}, { KUBECONFIG: env })).toBe('env.example');
    expect(hostOf({})).toBe('home.example');
  });

  test('from several files in KUBECONFIG, with the context of --context', () => {
    const both = [writeKubeconfig('one', 'one'), writeKubeconfig('two', 'two')].join(path.delimiter);
    expect(hostOf({}, { KUBECONFIG: both })).toBe('one.example');
    expect(hostOf({ context: 'two' }, { KUBECONFIG: both })).toBe('two.example');
  });
});

function errorOf(options: { kubeconfig?: string; context?: string }): string {
  try {
    hostOf(options);
  } catch (error) {
    if (error instanceof KubeconfigError) return error.message;
    throw error;
  }
  throw new Error('there is no error');
}

describe('throws one sentence without the content of the file', () => {
  test('if there is no kubeconfig', () => {
    expect(errorOf({})).toBe(
      `no cluster: neither --kubeconfig nor KUBECONFIG is set, and ${home}/.kube/config does not exist`,
    );
  });

  test('for an absent file, a directory and a malformed file', () => {
    expect(errorOf({ kubeconfig: '/nowhere' })).toBe('the kubeconfig /nowhere (from --kubeconfig) does not exist');
    expect(errorOf({ kubeconfig: home })).toContain('is a directory');
    const garbage = path.join(home, 'garbage');
    writeFileSync(garbage, 'token: the-secret-token: {[');
    expect(errorOf({ kubeconfig: garbage })).toMatch(/cannot be read: \w+$/);
    expect(errorOf({ kubeconfig: garbage })).not.toContain('secret');
  });

  test('for an unknown context, and for a file without a cluster', () => {
    expect(errorOf({ kubeconfig: writeKubeconfig('f', 'f'), context: 'g' })).toBe('the kubeconfig has no context "g"');
    const empty = path.join(home, 'empty');
    writeFileSync(empty, 'apiVersion: v1\nkind: Config\n');
    expect(errorOf({ kubeconfig: empty })).toMatch(/^the kubeconfig/);
  });
});

test.each<[string, Record<string, unknown>]>([
  ['tokenFile, as in kubectl', { tokenFile: 'token' }],
  ['tokenFile beside a token', { tokenFile: 'token', token: 'old' }],
  [
    'an auth provider of the client library',
    { 'auth-provider': { name: 'tokenFile', config: { tokenFile: '$HOME/token' } } },
  ],
])('reads the token of %s from its file, without the line break at its end', async (_title, user) => {
  writeFileSync(path.join(home, 'token'), 'abc\n');
  const file = path.join(home, 'k');
  writeFileSync(
    file,
    JSON.stringify({
      'current-context': 'c',
      clusters: [{ name: 'c', cluster: { server: 'https://c:6443' } }],
      users: [{ name: 'c', user }],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'c' } }],
    }).replaceAll('$HOME', home),
  );
  const { headers } = await loadConnection({ kubeconfig: file }, {}).credentials();
  expect(headers).toEqual({ Authorization: 'Bearer abc' });
});

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

function kubeconfig(file: string, name: string): string {
  const whole = path.join(home, file);
  mkdirSync(path.dirname(whole), { recursive: true });
  writeFileSync(
    whole,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': name,
      clusters: [{ name, cluster: { server: `https://${name}.example:6443` } }],
      users: [{ name, user: { token: 'the-secret-token' } }],
      contexts: [{ name, context: { cluster: name, user: name } }],
    }),
  );
  return whole;
}

const hostOf = (options: { kubeconfig?: string; context?: string }, env: Record<string, string> = {}): string =>
  loadConnection(options, { HOME: home, ...env }).server.hostname;

describe('the order', () => {
  test('--kubeconfig, else KUBECONFIG, else ~/.kube/config', () => {
    const flag = kubeconfig('flag', 'flag');
    const env = kubeconfig('env', 'env');
    kubeconfig('.kube/config', 'home');
    expect(hostOf({ kubeconfig: flag }, { KUBECONFIG: env })).toBe('flag.example');
    expect(hostOf({}, { KUBECONFIG: env })).toBe('env.example');
    expect(hostOf({})).toBe('home.example');
  });

  test('KUBECONFIG may list several files, and --context chooses among all', () => {
    const both = [kubeconfig('one', 'one'), kubeconfig('two', 'two')].join(path.delimiter);
    expect(hostOf({}, { KUBECONFIG: both })).toBe('one.example');
    expect(hostOf({ context: 'two' }, { KUBECONFIG: both })).toBe('two.example');
  });
});

const problem = (options: { kubeconfig?: string; context?: string }): string => {
  try {
    hostOf(options);
  } catch (error) {
    if (error instanceof KubeconfigError) return error.message;
    throw error;
  }
  throw new Error('it was found');
};

describe('what is wrong is one sentence, without the file’s content', () => {
  test('nothing anywhere', () => {
    expect(problem({})).toBe(
      `no cluster: neither --kubeconfig nor KUBECONFIG is set, and ${home}/.kube/config does not exist`,
    );
  });

  test('a file that does not exist, a directory, and garbage', () => {
    expect(problem({ kubeconfig: '/nowhere' })).toBe('the kubeconfig /nowhere (from --kubeconfig) does not exist');
    expect(problem({ kubeconfig: home })).toContain('is a directory');
    const garbage = path.join(home, 'garbage');
    writeFileSync(garbage, 'token: the-secret-token: {[');
    expect(problem({ kubeconfig: garbage })).toMatch(/cannot be read: \w+$/);
    expect(problem({ kubeconfig: garbage })).not.toContain('secret');
  });

  test('an unknown context, and a file that names no cluster', () => {
    expect(problem({ kubeconfig: kubeconfig('f', 'f'), context: 'g' })).toBe('the kubeconfig has no context "g"');
    const empty = path.join(home, 'empty');
    writeFileSync(empty, 'apiVersion: v1\nkind: Config\n');
    expect(problem({ kubeconfig: empty })).toMatch(/^the kubeconfig/);
  });
});

test.each<[string, Record<string, unknown>]>([
  ['tokenFile, as kubectl knows it', { tokenFile: 'token' }],
  ['tokenFile beside an old token', { tokenFile: 'token', token: 'old' }],
  ['the client library’s own way', { 'auth-provider': { name: 'tokenFile', config: { tokenFile: '$HOME/token' } } }],
])('%s: read from its file, and sent without the line break at its end', async (_title, user) => {
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

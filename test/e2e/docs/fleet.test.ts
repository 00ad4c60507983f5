import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

import { expect, test } from 'vitest';
import { parse } from 'yaml';

import type { KubeObject } from '../control-plane/kube-client.ts';
import { debianProgram } from '../support/debian-program.ts';
import { buildDirectory } from '../support/kubectl.ts';
import { MANIFESTS, overlay } from '../support/overlays.ts';
import { PATHS } from '../support/paths.ts';
import { runProcess } from '../support/process.ts';
import { sharedInstalledCluster } from '../support/shared-clusters.ts';
import { Shell } from '../support/shell.ts';

type Guard = KubeObject & {
  readonly metadata: { readonly generation: number };
  readonly status: {
    readonly observedGeneration: number;
    readonly conditions: readonly {
      readonly type: string;
      readonly status: string;
      readonly message: string;
    }[];
  };
};

interface HealthCheck {
  readonly spec: { readonly resourceHealthChecks: readonly { readonly check: string }[] };
}

interface Application {
  readonly spec: {
    readonly ignoreDifferences: readonly { readonly jqPathExpressions: readonly string[] }[];
  };
}

const FLEET = 'docs/fleet';
const REMOTE_BASE = /github\.com\/machineconfig-guard\/machineconfig-guard\/manifests\/(\S+)\?ref=v\d+\.\d+\.\d+$/gm;

const installed = await sharedInstalledCluster();
const { cluster, controlPlane } = installed;
const shell = await Shell.open(controlPlane);
// Argo CD runs the script in gopher-lua, which implements Lua 5.1, too.
const lua = await debianProgram('lua5.1', ['lua5.1', 'libreadline8']);
const { spec } = readYaml('argo-cd/argocd.yaml') as HealthCheck;

function readYaml(file: string): unknown {
  return parse(readFileSync(join(shell.home, FLEET, file), 'utf8'));
}

/** Builds a directory of docs/fleet with the manifests of this version instead of those on GitHub. */
async function buildFleet(name: string): Promise<readonly KubeObject[]> {
  const file = join(shell.home, FLEET, name, 'kustomization.yaml');
  const local = (directory: string): string => relative(dirname(file), join(MANIFESTS, directory));
  const text = await readFile(file, 'utf8');
  await writeFile(
    file,
    text.replaceAll(REMOTE_BASE, (_match, directory: string) => local(directory)),
  );
  return buildDirectory(controlPlane, dirname(file));
}

function imagesOf(objects: readonly KubeObject[]): readonly string[] {
  return [...JSON.stringify(objects).matchAll(/"image":"(?<image>[^"]*)"/g)].map(
    ({ groups }) => groups?.['image'] ?? '',
  );
}

function identify({ kind, metadata: { name, namespace } }: KubeObject): string {
  return [kind, namespace, name].join('/');
}

test('the Policy installs the objects of the overlay service-ca with an image by digest', async () => {
  const objects = await buildFleet('policy-install/guard');

  const expected = await buildDirectory(controlPlane, overlay('service-ca'));
  expect(objects.map(identify)).toEqual(expected.map(identify));
  expect(imagesOf(objects)).toEqual([expect.stringMatching(/^registry\.\S+@sha256:[0-9a-f]{64}$/)]);
});

test('the Argo CD directory also sets the mode and the hold', async () => {
  const objects = await buildFleet('argo-cd/guard');

  const expected = await buildDirectory(controlPlane, overlay('service-ca'));
  const settings = objects.filter(({ kind }) => kind === 'MachineConfigGuard');
  expect(settings.map(({ spec }) => spec)).toEqual([{ mode: 'Audit', holdSuperseded: '24h' }]);
  expect(objects).toHaveLength(expected.length + 1);
  expect(imagesOf(objects)).toEqual([expect.stringContaining('@sha256:')]);
});

test('the webhooks differ from the manifests only in what the Application ignores', async () => {
  const { spec } = readYaml('argo-cd/application.yaml') as Application;
  const paths = spec.ignoreDifferences.flatMap(({ jqPathExpressions }) => jqPathExpressions);
  const live = 'kubectl get validatingwebhookconfiguration machineconfig-guard -o json';
  const manifests = await buildDirectory(controlPlane, overlay('service-ca'));
  const webhook = manifests.find(({ kind }) => kind === 'ValidatingWebhookConfiguration') as unknown as {
    readonly webhooks: readonly { readonly clientConfig: object }[];
  };
  const readClientConfigs = async (filter: string): Promise<unknown> => {
    const { stdout } = await shell.run(`${live} | jq '${filter} | [.webhooks[].clientConfig]'`);
    return JSON.parse(stdout);
  };

  const wanted = webhook.webhooks.map(({ clientConfig }) => clientConfig);
  expect(await readClientConfigs('.')).toEqual(
    wanted.map((clientConfig) => ({ ...clientConfig, caBundle: expect.any(String) as string })),
  );
  expect(await readClientConfigs(`del(${paths.join()})`)).toEqual(wanted);
});

async function getGuard(): Promise<Guard> {
  return (await cluster.admin.find(PATHS.guard)) as Guard;
}

/** The health that Argo CD computes for an object. */
async function assessHealth(guard: object): Promise<string> {
  const check = spec.resourceHealthChecks[0]?.check ?? '';
  const script = `local function assess(obj) ${check} end
    local health = assess(${toLua(guard)})
    io.write(health.status, ": ", health.message)`;
  const { exitCode, stdout, stderr } = await runProcess(lua.file, ['-'], { env: lua.env, input: script });
  expect([exitCode, stderr]).toEqual([0, '']);
  return stdout;
}

/** A value of JSON as Lua. JSON escapes more than Lua knows, but these texts are plain. */
function toLua(value: unknown): string {
  if (Array.isArray(value)) return `{${value.map(toLua).join(', ')}}`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, field]) => `[${JSON.stringify(key)}] = ${toLua(field)}`)
    .join(', ')}}`;
}

function withCondition(guard: Guard, type: string, status: string): Guard {
  const conditions = guard.status.conditions.map((condition) =>
    condition.type === type ? { ...condition, status, message: 'the reason' } : condition,
  );
  return { ...guard, status: { ...guard.status, conditions } };
}

test('Argo CD calls the MachineConfigGuard of a working guard healthy', async () => {
  const health = async () => assessHealth(await getGuard());
  await expect.poll(health, { timeout: 40_000 }).toBe('Healthy: Mode Enforce');
});

test.each([
  ['Ready', 'False', 'Progressing: the reason'],
  ['CertificatesValid', 'False', 'Degraded: the reason'],
  ['CertificatesValid', 'Unknown', 'Healthy: Mode Enforce'],
  ['ReferencesConsistent', 'False', 'Healthy: the reason'],
])('Argo CD assesses the condition %s=%s as %s', async (type, status, health) => {
  expect(await assessHealth(withCondition(await getGuard(), type, status))).toBe(health);
});

test('Argo CD waits for the first status and for changed settings', async () => {
  const { status, ...guard } = await getGuard();
  const metadata = { ...guard.metadata, generation: status.observedGeneration + 1 };

  expect(await assessHealth(guard)).toMatch(/^Progressing: .* has not written its status yet$/);
  expect(await assessHealth({ ...guard, metadata, status })).toMatch(/^Progressing: .* not applied the settings yet$/);
});

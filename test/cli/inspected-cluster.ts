import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, vi } from 'vitest';
import { operatorAnnotations, roleLabels } from '../support/operator-objects.ts';
import { startTestCluster, type TestCluster } from '../support/test-cluster.ts';
import { startCommand } from './command-process.ts';
import { runProgram } from './run-program.ts';
import { createTemporaryDirectory } from './temporary-directory.ts';

export const OLD = 'rendered-worker-a4983d88dabdc54ecf977ee120fd3791';
export const NEW = 'rendered-worker-b4983d88dabdc54ecf977ee120fd3796';
export const GONE = 'rendered-worker-c4983d88dabdc54ecf977ee120fd3793';

export const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/) as string;

/** A line of each command that reads a cluster. */
export const CLUSTER_COMMAND_LINES: readonly (readonly [string, ...string[]])[] = [
  ['check'],
  ['render', '--from-cluster', '--out', '-', '--image', 'registry.example.com/guard:1'],
  ['restore', '--from', 'node/worker-0'],
  ['status'],
  ['uninstall'],
  ['verify'],
  ['who-uses'],
];

const STYLES: Readonly<Record<string, string>> = { 1: '<bold>', 31: '<red>', 35: '<magenta>' };

/** A cluster in memory and commands that use it. */
export type InspectedCluster = Awaited<ReturnType<typeof startEmptyCluster>>;

export async function startEmptyCluster() {
  const cluster = await startTestCluster();
  const directory = createTemporaryDirectory();
  const kubeconfig = path.join(directory, 'kubeconfig');
  writeFileSync(kubeconfig, cluster.kubeconfig, { mode: 0o600 });
  const complete = (args: readonly string[]) => [
    ...args.map((arg) => arg.replace(/^DIRECTORY$/, path.join(directory, 'out'))),
    '--kubeconfig',
    kubeconfig,
  ];
  const { host: address } = new URL(cluster.url);
  const run = (...args: readonly string[]) => runProgram(complete(args));
  let transcript = '';
  return {
    cluster,
    /** The address of the API server in messages. */
    address,
    kubeconfig,
    /** Runs a command in this process. The argument DIRECTORY stands for a directory that does not exist. */
    run,
    /** Runs a command, and returns what all calls have printed so far, without the values that change. */
    transcribe: async (title: string, ...args: readonly string[]) => {
      vi.stubEnv('NO_COLOR', undefined).stubEnv('FORCE_COLOR', '1');
      const { exitCode, stdout, stderr } = await run(...args);
      const text = `${stderr}${stdout}`
        .replaceAll(/\p{Cc}\[(\d+)m/gu, (_code, style: string) => STYLES[style] ?? '')
        .replaceAll(kubeconfig, 'kubeconfig')
        .replaceAll(address, 'api.example.com')
        .replaceAll(/\/\S+\/(?=\w+\.json\b)/g, '')
        .replaceAll(/^ +\d+s {2}/gm, '...  ');
      return (transcript += `### ${title}\n${text}### exit code ${exitCode}\n\n`);
    },
    start: (...args: readonly string[]) => startCommand(complete(args)),
  };
}

/** Starts a cluster in which node worker-0 and pool worker use NEW, and OLD is unused. */
export async function startHealthyCluster(): Promise<InspectedCluster> {
  const inspected = await startEmptyCluster();
  const { cluster } = inspected;
  createConfig(cluster, OLD);
  createConfig(cluster, NEW);
  createNode(cluster, 'worker-0', { currentConfig: NEW, desiredConfig: NEW, state: 'Done' });
  createPool(cluster, 'worker', { spec: NEW, status: NEW });
  return inspected;
}

export function createConfig(cluster: TestCluster, name: string): void {
  cluster.create('machineconfigs', { metadata: { name }, spec: { kernelType: 'default' } });
}

export function createNode(
  cluster: TestCluster,
  name: string,
  annotations: Readonly<Record<string, string>>,
  role = 'worker',
): void {
  const metadata = { name, labels: roleLabels(role), annotations: operatorAnnotations(annotations) };
  cluster.create('nodes', { metadata });
}

export function annotate(cluster: TestCluster, name: string, annotations: Readonly<Record<string, string>>): void {
  cluster.patch('nodes', name, { metadata: { annotations: operatorAnnotations(annotations) } });
}

export function createPool(
  cluster: TestCluster,
  name: string,
  { spec, status, sources = [] }: { readonly spec?: string; readonly status?: string; readonly sources?: string[] },
): void {
  cluster.create('machineconfigpools', {
    metadata: { name },
    spec: {
      configuration: { ...(spec !== undefined && { name: spec }), source: sources.map((source) => ({ name: source })) },
      nodeSelector: { matchLabels: roleLabels(name) },
    },
    status: { configuration: status === undefined ? {} : { name: status }, machineCount: 1, updatedMachineCount: 1 },
  });
}

/** Installs a guard whose status lists holds, each with its rest in milliseconds. */
export function holdConfigs(cluster: TestCluster, rests: Readonly<Record<string, number>>): void {
  const heldConfigs = Object.entries(rests).map(([name, rest]) => {
    return { name, until: `${new Date(Date.now() + rest).toISOString().slice(0, -5)}Z` };
  });
  cluster.create('machineconfigguards', { metadata: { name: 'cluster' }, status: { heldConfigs } });
}

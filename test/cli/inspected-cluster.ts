import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { type Outcome, runProgram } from './run-program.ts';
import { type TestCluster, startTestCluster } from '../support/test-cluster.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const MCO = 'machineconfiguration.openshift.io';

export const OLD = 'rendered-worker-a4983d88dabdc54ecf977ee120fd3796';
export const NEW = 'rendered-worker-b4983d88dabdc54ecf977ee120fd3796';
export const GONE = 'rendered-worker-c4983d88dabdc54ecf977ee120fd3796';

/** A command that runs in a process of its own. */
export interface Running {
  readonly outcome: Promise<Outcome>;
  /** What it has written to stderr so far. */
  stderr: () => string;
}

/** A cluster in memory and commands that look at it. */
export interface InspectedCluster {
  readonly sandbox: TestCluster;
  /** Its API server's address, as messages name it. */
  readonly address: string;
  /** Runs a command line in this process. */
  run: (...args: string[]) => Promise<Outcome>;
  /** Starts one in a process of its own. */
  start: (...args: string[]) => Running;
}

/** An empty cluster that ends with the test. */
export async function inspectedCluster(): Promise<InspectedCluster> {
  const sandbox = await startTestCluster();
  const directory = await mkdtemp(path.join(tmpdir(), 'mcg-inspect-'));
  onTestFinished(async () => {
    await rm(directory, { recursive: true, force: true });
  });
  const kubeconfig = path.join(directory, 'kubeconfig');
  await writeFile(kubeconfig, sandbox.kubeconfig, { mode: 0o600 });
  return {
    sandbox,
    address: new URL(sandbox.url).host,
    run: (...args) => runProgram([...args, '--kubeconfig', kubeconfig]),
    start: (...args) => startProgram([...args, '--kubeconfig', kubeconfig]),
  };
}

/** One where a worker and its pool are on NEW, and OLD is left over. */
export async function healthyCluster(): Promise<InspectedCluster> {
  const cluster = await inspectedCluster();
  const { sandbox } = cluster;
  createConfig(sandbox, OLD);
  createConfig(sandbox, NEW);
  createNode(sandbox, 'worker-0', { currentConfig: NEW, desiredConfig: NEW, state: 'Done' });
  createPool(sandbox, 'worker', { spec: NEW, status: NEW });
  return cluster;
}

export function createConfig(sandbox: TestCluster, name: string): void {
  sandbox.create('machineconfigs', { metadata: { name }, spec: { kernelType: 'default' } });
}

export function createNode(
  sandbox: TestCluster,
  name: string,
  annotations: Readonly<Record<string, string>>,
  role = 'worker',
): void {
  sandbox.create('nodes', {
    metadata: {
      name,
      labels: { [`node-role.kubernetes.io/${role}`]: '' },
      annotations: prefixed(annotations),
    },
  });
}

export function annotate(sandbox: TestCluster, name: string, annotations: Readonly<Record<string, string>>): void {
  sandbox.patch('nodes', name, { metadata: { annotations: prefixed(annotations) } });
}

export function createPool(
  sandbox: TestCluster,
  name: string,
  { spec, status }: { readonly spec?: string; readonly status?: string },
): void {
  sandbox.create('machineconfigpools', {
    metadata: { name },
    spec: {
      configuration: spec === undefined ? {} : { name: spec },
      nodeSelector: { matchLabels: { [`node-role.kubernetes.io/${name}`]: '' } },
    },
    status: { configuration: status === undefined ? {} : { name: status }, machineCount: 1, updatedMachineCount: 1 },
  });
}

function prefixed(annotations: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(annotations).map(([key, value]) => [`${MCO}/${key}`, value]));
}

function startProgram(args: readonly string[]): Running {
  const child = spawn(process.execPath, ['--import', 'tsx', 'src/cli/main.ts', ...args], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'] },
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => void (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => void (stderr += chunk.toString()));
  return {
    stderr: () => stderr,
    outcome: new Promise((resolve) => {
      child.once('close', (code) => {
        resolve({ exitCode: code ?? -1, stdout, stderr });
      });
    }),
  };
}

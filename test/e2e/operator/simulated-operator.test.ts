import { afterAll, expect, test } from 'vitest';

import { startOperator } from '../../../src/demo/operator/controllers.ts';
import { joinCluster } from '../../../src/demo/operator/hosts.ts';
import { MASTER_POOL } from '../../../src/demo/operator/pool.ts';
import { Simulation } from '../../../src/demo/operator/simulation.ts';
import { startTestCluster } from '../../support/test-cluster.ts';
import type { KubeObject } from '../control-plane/kube-client.ts';
import { PATHS } from '../support/paths.ts';
import { OperatorCluster } from './operator-cluster.ts';

const NODE = 'simulated-0';
const POOL = 'simulated';
const MCO = 'machineconfiguration.openshift.io';

/** Fields that only one of the two operators writes, each with the reason why the guard needs no other. */
const EXCEPTIONS: Readonly<Record<string, RegExp>> = {
  'the API server sets them': /^metadata\.(creationTimestamp|generation|managedFields|resourceVersion|uid)/,
  'any content of a config will do': /^spec\.(config\.|extensions|kernelArguments|baseOSExtensions)/,
  'the administrator sets them': /^spec\.(machineConfigSelector|nodeSelector|maxUnavailable)/,
  'the guard reads no other condition': /^status\.conditions\[(?!Updated\])/,
  'the guard does not read them': /^status\.(certExpirys|observedGeneration)|\/controlPlaneTopology$/,
};

const operator = await OperatorCluster.shared();
const { admin } = operator;

afterAll(() => operator.removeMachines());

/** What the operator has written. The machine-config-daemon writes some of the annotations at its request. */
type Written = Readonly<Record<'config' | 'pool' | 'annotations', object | undefined>>;

/** Runs the real operator until a machine has joined. */
async function runRealOperator(): Promise<Written> {
  const { config: name } = await operator.bootPool(POOL);
  const annotations = await operator.until('the last annotation of the node', async () => {
    const { metadata } = (await admin.find(`${PATHS.nodes}/${NODE}`)) ?? {};
    return metadata?.annotations?.[`${MCO}/reason`] !== undefined && metadata.annotations;
  });
  const config = await admin.find(`${PATHS.configs}/${name}`);
  return { config, pool: await admin.find(`${PATHS.pools}/${POOL}`), annotations };
}

/** Runs the simulated operator until it has updated a machine. */
async function runSimulatedOperator(): Promise<Written> {
  const api = (await startTestCluster()).connect();
  const simulation = new Simulation({ api, speed: Number.POSITIVE_INFINITY });
  await joinCluster(simulation, NODE, await simulation.rollOut('first'));
  startOperator(simulation);
  await simulation.rollOut('second');
  await simulation.run();
  const find = async (path: string) => (await api.json({ path, signal: AbortSignal.timeout(10_000) })) as KubeObject;
  const { annotations } = (await find(`${PATHS.nodes}/${NODE}`)).metadata;
  const config = await find(`${PATHS.configs}/${simulation.pool.config}`);
  return { config, pool: await find(`${PATHS.pools}/${MASTER_POOL}`), annotations };
}

/** The paths of all fields. Conditions have their type instead of an index. */
function listFields(value: unknown, path: string): string[] {
  if (Array.isArray(value)) {
    return value.flatMap((item: { type?: string }) => listFields(item, `${path}[${item.type ?? ''}]`));
  }
  if (typeof value !== 'object' || value === null) return [path];
  return Object.entries(value).flatMap(([key, item]) => listFields(item, path === '' ? key : `${path}.${key}`));
}

test('writes the fields that the real operator writes and the guard reads', async () => {
  const [real, simulated] = [await runRealOperator(), await runSimulatedOperator()];
  const isException = (field: string) => Object.values(EXCEPTIONS).some((exception) => exception.test(field));
  const listOwnFields = (written: Written) =>
    new Set(listFields(written, '').filter((field) => !isException(field.replace(/^\w+\.?/, ''))));
  expect(listOwnFields(simulated)).toEqual(listOwnFields(real));
});

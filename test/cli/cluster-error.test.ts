import { expect, test } from 'vitest';
import { toCliError } from '../../src/cli/cluster-error.ts';
import { ClusterAccessError } from '../../src/inspect/cluster-access.ts';
import { DryRunError } from '../../src/inspect/trial-deletion.ts';
import { MACHINE_CONFIGS_PATH, NODES_PATH, POOLS_PATH } from '../../src/kube/api-paths.ts';
import type { KubeApi } from '../../src/kube/api.ts';
import { ApiError, ApiUnreachable } from '../../src/kube/errors.ts';

const API = { address: 'api:6443' } as KubeApi;
const SERVER = 'the API server at api:6443';
const CONFIGS = 'machineconfigs.machineconfiguration.openshift.io';
const SECRET_PATH = '/api/v1/namespaces/ns/secrets/name';
const SECRETS = 'secrets in namespace ns';
const NOT_OPENSHIFT = 'the cluster is not OpenShift, or the Machine Config Operator is not installed yet';

const NOT_IN_CLUSTER_READER = ' (cluster-reader does not include it)';

const denied = (access: string, command: string, role = ''): string =>
  `${SERVER} denies you ${access}${role}; check with: oc auth can-i ${command}`;

test.each<['get' | 'list' | 'delete', string, number, string]>([
  ['list', NODES_PATH, 403, denied('"list" on nodes', 'list nodes')],
  [
    'list',
    MACHINE_CONFIGS_PATH,
    403,
    denied(`"list" on ${CONFIGS}`, `list ${CONFIGS}`, NOT_IN_CLUSTER_READER),
  ],
  ['delete', `${MACHINE_CONFIGS_PATH}/a`, 403, denied(`"delete" on ${CONFIGS}`, `delete ${CONFIGS}`)],
  ['get', SECRET_PATH, 403, denied(`"get" on ${SECRETS}`, 'get secrets -n ns')],
  ['get', SECRET_PATH, 401, `${SERVER} rejects the credentials of the kubeconfig; run oc login`],
  ['list', MACHINE_CONFIGS_PATH, 404, `${SERVER} does not serve ${CONFIGS}: ${NOT_OPENSHIFT}`],
  ['get', SECRET_PATH, 500, `${SERVER} answered 500 to get ${SECRETS}: the reason`],
])('explains a %s of %s that was answered with %i', (verb, path, status, message) => {
  const cause = new ApiError(status, '', 'the\nreason');
  expect(toCliError(new ClusterAccessError(verb, path, cause), API)).toMatchObject({
    exitCode: 3,
    message,
    cause: {},
  });
});

test.each([
  [
    'an unreachable API server',
    new ClusterAccessError('list', POOLS_PATH, new ApiUnreachable('api:6443 cannot be reached: X')),
    3,
    'cannot list machineconfigpools.machineconfiguration.openshift.io: api:6443 cannot be reached: X',
  ],
  [
    'a certificate of an unknown authority',
    new ClusterAccessError(
      'list',
      NODES_PATH,
      new ApiUnreachable('api:6443: UNABLE_TO_VERIFY_LEAF_SIGNATURE'),
    ),
    3,
    'cannot list nodes: certificate signed by an unknown authority; check certificate-authority in the kubeconfig',
  ],
  [
    'an invalid label selector',
    new ClusterAccessError('list', NODES_PATH, new ApiError(400, '', 'the\nreason')),
    2,
    'invalid label selector (--role, --selector): the reason',
  ],
  ['a timeout', new DOMException('took longer', 'TimeoutError'), 3, `${SERVER} did not answer in time`],
  ['an unsafe dry run', new DryRunError('unsafe.'), 3, 'unsafe.'],
])('explains %s', (_name, error, exitCode, message) => {
  expect(toCliError(error, API)).toMatchObject({ exitCode, message });
});

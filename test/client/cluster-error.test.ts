import { expect, test } from 'vitest';
import { toCliError } from '../../src/client/cluster-error.ts';
import { ClusterAccessError } from '../../src/client/cluster-access.ts';
import type { CliError } from '../../src/client/exit.ts';
import { CommandFormatter } from '../../src/client/output/advice.ts';
import { GUARD_PATH, MACHINE_CONFIGS_PATH, NODES_PATH, POOLS_PATH } from '../../src/kube/api-paths.ts';
import type { KubeApi } from '../../src/kube/api.ts';
import { ApiError, ApiUnreachable } from '../../src/kube/errors.ts';

const API = { address: 'api:6443' } as KubeApi;
const SERVER = 'the API server at api:6443';
const CONFIGS = 'machineconfigs.machineconfiguration.openshift.io';
const POOLS = 'machineconfigpools.machineconfiguration.openshift.io';
const GUARDS = 'machineconfigguards.machineconfig-guard.io';
const SECRET_PATH = '/api/v1/namespaces/ns/secrets/name';
const SECRETS = 'secrets in namespace ns';

// Messages of kube-apiserver 1.33.
const CANNOT_PATCH = 'User "u" cannot patch resource "machineconfigpools/status" in API group "m"';
const CANNOT_BLOCK = 'cannot set blockOwnerDeletion if an ownerReference refers to a resource';
const denied = (verb: string, resource: string): string => `${SERVER} denies you "${verb}" on ${resource}: `;

test.each<['create' | 'get' | 'list' | 'delete' | 'patch', string, number, string, string?]>([
  ['list', NODES_PATH, 403, `${denied('list', 'nodes')}the reason`],
  ['get', GUARD_PATH, 403, `${denied('get', GUARDS)}the reason`],
  ['patch', POOLS_PATH, 403, denied('patch', POOLS) + CANNOT_PATCH, `pools "a" is forbidden: ${CANNOT_PATCH}`],
  ['create', POOLS_PATH, 403, denied('create', POOLS) + CANNOT_BLOCK, `pools "a" is forbidden: ${CANNOT_BLOCK}`],
  ['get', SECRET_PATH, 401, `${SERVER} rejects the credentials of the kubeconfig; log in with: oc login`],
  ['list', MACHINE_CONFIGS_PATH, 404, expect.stringContaining(`${SERVER} does not serve ${CONFIGS}: `)],
  ['create', MACHINE_CONFIGS_PATH, 400, `${SERVER} answered 400 to create ${CONFIGS}: the reason`],
  ['get', SECRET_PATH, 500, `${SERVER} answered 500 to get ${SECRETS}: the reason`],
])('explains a %s of %s that was answered with %i', (verb, path, status, message, reason = 'the\nreason') => {
  const error = toCliError(new ClusterAccessError(verb, path, new ApiError(status, '', reason)), API) as CliError;
  expect(error).toMatchObject({ exitCode: 3, cause: {} });
  expect(error.describe(new CommandFormatter('machineconfig-guard', {}))).toEqual(message);
});

test.each([
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'certificate signed by an unknown authority; '],
  ['CERT_HAS_EXPIRED', 'its certificate has expired; '],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'its certificate is for other names (DNS:api.example); '],
  ['CERT_NOT_YET_VALID', 'its certificate is not valid yet; '],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'it does not use TLS; '],
  ['EAI_AGAIN', 'the host name cannot be resolved; '],
  ['EHOSTUNREACH', 'no route or no answer; '],
  ['ERR_OTHER', 'ERR_OTHER'],
])('explains a connection that fails with %s', (code, reason) => {
  const cert = { subjectaltname: 'DNS:api.example' };
  const cause = new ApiUnreachable('', { cause: Object.assign(new Error(''), { code, cert }) });
  expect(toCliError(new ClusterAccessError('list', NODES_PATH, cause), API)).toMatchObject({
    exitCode: 3,
    message: expect.stringContaining(`cannot connect to ${SERVER}: ${reason}`) as string,
  });
});

test.each<[Error, number, string]>([
  [new ApiUnreachable('the response is incomplete'), 3, 'cannot list nodes: the response is incomplete'],
  [new DOMException('', 'TimeoutError'), 3, `${SERVER} did not answer in time; raise --request-timeout`],
  [new ApiError(400, '', 'the\nreason'), 2, 'invalid label selector (--role, --selector): the reason'],
])('explains the failure %s of a list', (cause, exitCode, message) => {
  expect(toCliError(new ClusterAccessError('list', NODES_PATH, cause), API)).toMatchObject({ exitCode, message });
  // Of several requests.
  const ofAll = { exitCode: 3, message: `${SERVER} did not answer in time` };
  expect(toCliError(new DOMException('', 'TimeoutError'), API)).toMatchObject(ofAll);
});

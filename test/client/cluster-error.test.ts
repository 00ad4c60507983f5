import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { type CommandRole, toCliError } from '../../src/client/cluster-error.ts';
import { ClusterAccessError, isRetryableRead } from '../../src/client/cluster-access.ts';
import type { CliError } from '../../src/client/exit.ts';
import { CommandFormatter } from '../../src/client/output/advice.ts';
import { NODES_PATH } from '../../src/kube/api-paths.ts';
import { ApiError, ApiUnreachable, MalformedList } from '../../src/kube/errors.ts';

type Verb = ConstructorParameters<typeof ClusterAccessError>[0];

const API = { address: 'api:6443' };
const SERVER = 'the API server at api:6443';
const { answers, rights, connections } = parse(
  readFileSync(new URL('cluster-errors.yaml', import.meta.url), 'utf8'),
) as {
  readonly answers: readonly [Verb, path: string, status: number, reason: string, message: string][];
  readonly rights: readonly [role: CommandRole | null, Verb, resource: string, user: string, advice: string[]][];
  readonly connections: Readonly<Record<string, string>>;
};

test.each(answers)('explains a %s of %s that was answered with %i', (verb, path, status, reason, message) => {
  const error = toCliError(new ClusterAccessError(verb, path, new ApiError(status, '', reason)), API) as CliError;
  expect(error).toMatchObject({ exitCode: 3, cause: {} });
  expect(error.describe(new CommandFormatter('machineconfig-guard', {}))).toBe(message);
});

test.each(rights)('with the role %s, says how to get the right to %s %s', (role, verb, resource, user, advice) => {
  const denial = `${resource} is forbidden: ${user === '' ? '' : `User "${user}" `}cannot do it`;
  const cause = new ApiError(403, '', denial);
  const error = new ClusterAccessError(verb, `/api/v1/${resource}`, cause);
  const { message, ...explained } = toCliError(error, API, role ?? undefined) as CliError;
  expect(message).toMatch(/^the API server at api:6443 denies you .* on .*: .*cannot do it$/);
  const commands = new CommandFormatter('machineconfig-guard', {});
  expect(explained.advice.map(({ command: line }) => line && commands.toLine(line))).toEqual(advice);
});

test.each([new ApiUnreachable('the response is incomplete'), new MalformedList('the list is not JSON')])(
  'says who else can have answered after %s',
  (cause) => {
    const { message, advice } = toCliError(new ClusterAccessError('list', NODES_PATH, cause), API) as CliError;
    expect(message).toBe(`cannot list nodes: ${cause.message}`);
    expect(advice).toMatchObject([{ text: expect.stringContaining('a proxy or another server answers') as string }]);
  },
);

test('quotes a whole paragraph of a policy', () => {
  const text = `ValidatingAdmissionPolicy 'p' with binding 'b' denied request: ${'reason '.repeat(120)}ends here`;
  const error = toCliError(new ClusterAccessError('create', NODES_PATH, new ApiError(422, '', text)), API);
  expect((error as CliError).message).toBe(`${SERVER} denies create of nodes: ${text}`);
});

test('advises no role if the user may not impersonate', () => {
  const cause = new ApiError(403, '', 'users "b" is forbidden: User "a" cannot impersonate resource "users"');
  expect(toCliError(new ClusterAccessError('list', NODES_PATH, cause), API, 'reader')).toMatchObject({ advice: [] });
});

test.each(Object.entries(connections))('explains a connection that fails with %s', (code, reason) => {
  const cert = { subjectaltname: 'DNS:api.example' };
  const cause = new ApiUnreachable('', { cause: Object.assign(new Error(''), { code, cert }) });
  const message = expect.stringContaining(`cannot connect to ${SERVER}: ${reason}`) as string;
  const error = new ClusterAccessError('list', NODES_PATH, cause);
  expect(toCliError(error, API)).toMatchObject({ exitCode: 3, message });
  // A retry cannot help before a person has corrected the certificate.
  expect(isRetryableRead(error)).toBe(!code.includes('CERT'));
});

test.each<[Error, number, string]>([
  [new ApiUnreachable('the response is incomplete'), 3, 'cannot list nodes: the response is incomplete'],
  [
    new DOMException('', 'TimeoutError'),
    3,
    `${SERVER} did not answer in time; check the kube-apiserver pods, or raise --request-timeout`,
  ],
  [new ApiError(400, '', 'the\nreason'), 3, 'the API server at api:6443 answered 400 to list nodes: the reason'],
])('explains the failure %s of a list', (cause, exitCode, message) => {
  expect(toCliError(new ClusterAccessError('list', NODES_PATH, cause), API)).toMatchObject({ exitCode, message });
  // Of several requests.
  const ofAll = { exitCode: 3, message: `${SERVER} did not answer in time` };
  expect(toCliError(new DOMException('', 'TimeoutError'), API)).toMatchObject(ofAll);
});

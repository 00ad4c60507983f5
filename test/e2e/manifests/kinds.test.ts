import { readFileSync } from 'node:fs';
import path from 'node:path';
import PQueue from 'p-queue';
import { expect, test } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import { findProblems } from '../../../src/manifests/find-problems.ts';
import type { Code } from '../../../src/manifests/rules/rules.ts';
import { ControlPlane } from '../control-plane/control-plane.ts';
import type { KubeObject } from '../control-plane/kube-client.ts';
import { IS_LONG, runBinaries } from '../support/runner.ts';
import { mutate } from './mutations.ts';

/** Of all mutations. With --long all. */
const SHARE = IS_LONG ? 1 : 7;
const CONCURRENCY = 8;
/** Rules that are not about what an API server accepts. */
const OTHER_CODES: ReadonlySet<Code> = new Set(['DuplicateObject', 'OnlyInCluster', 'MissingNamespace']);
const { signal } = new AbortController();

const controlPlane = await ControlPlane.start(await runBinaries());
await controlPlane.installProjects('openshift-4.20-manifests');
const { admin } = controlPlane.apiServer;

const OBJECTS = parseAllDocuments(readFileSync(path.join(import.meta.dirname, 'kinds.yaml'), 'utf8')).map(
  (document) => document.toJS() as KubeObject,
);

/** Posts an object as cluster-bootstrap does. Returns why the API rejects it. */
async function findRejection({ apiVersion, kind, ...object }: KubeObject): Promise<string | undefined> {
  const group = `/${apiVersion.includes('/') ? 'apis' : 'api'}/${apiVersion}`;
  const discovery = await admin.request('GET', group);
  const { resources = [] } = discovery.body as { resources?: { name: string; kind: string; namespaced: boolean }[] };
  const resource = resources.find((each) => each.kind === kind && !each.name.includes('/'));
  if (resource === undefined) return 'no such kind';
  const { metadata } = object as { readonly metadata?: { readonly namespace?: unknown } };
  const namespace = metadata?.namespace;
  if (resource.namespaced && typeof namespace !== 'string') return 'no namespace';
  const scope = resource.namespaced ? `/namespaces/${String(namespace)}` : '';
  const url = `${group}${scope}/${resource.name}`;
  const { status, body } = await admin.request(
    'POST',
    url,
    { apiVersion, kind, ...object },
    { query: { dryRun: 'All' } },
  );
  return status < 300 || status === 409 ? undefined : `${status}: ${(body as { message?: string }).message}`;
}

async function findErrors(object: object): Promise<string[]> {
  const files = [{ path: 'a.yaml', content: Buffer.from(stringify(object)) }];
  const input = { installer: undefined, hasFolders: true, installConfig: undefined, files };
  const { problems } = await findProblems(input, { release: '4.20', signal });
  return problems
    .filter(({ severity, code }) => severity === 'error' && !OTHER_CODES.has(code))
    .map(({ code, message }) => `${code}: ${message}`);
}

test.each(OBJECTS.map((object) => [object.kind, object.apiVersion, object] as const))(
  'accepts a %s of %s as the API server does',
  async (_kind, _apiVersion, object) => {
    expect([await findRejection(object), await findErrors(object)]).toEqual([undefined, []]);
  },
);

test('judges objects with one fault each as the API server does', async () => {
  const all = OBJECTS.flatMap((object) =>
    mutate(object).map(({ what, object: changed }) => ({ what: `${object.kind}: ${what}`, object: changed })),
  );
  const mutations = all.filter((_, index) => index % SHARE === 0);
  const verdicts = await new PQueue({ concurrency: CONCURRENCY }).addAll(
    mutations.map(({ what, object }) => async () => {
      const rejection = await findRejection(object as KubeObject);
      return { what, rejection, errors: await findErrors(object) };
    }),
  );
  const missed = verdicts.filter(({ rejection, errors }) => rejection !== undefined && errors.length === 0);
  const wrong = verdicts.filter(({ rejection, errors }) => rejection === undefined && errors.length > 0);
  console.log(JSON.stringify({ total: verdicts.length, missed, wrong }, null, 1));
  expect(wrong).toEqual([]);
});

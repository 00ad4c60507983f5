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
const TIMEOUT_MS = IS_LONG ? 7_200_000 : 1_200_000;
/** Rules that are not about what an API server accepts. */
const OTHER_CODES: ReadonlySet<Code> = new Set(['DuplicateObject', 'OnlyInCluster', 'MissingNamespace']);
const MAX_MISSED_SHARE = 0.005;
/** Of custom resources: a rule that the API server derives from the subresource scale, and a group of an operator. */
const MISSED = ['IngressController: spec.replicas = -1', 'Config: apiVersion ximageregistry.operator.openshift.io/v1'];

const controlPlane = await ControlPlane.start(await runBinaries());
await controlPlane.installProjects('openshift-4.20-manifests', 'openshift-4.20-watched', 'node-tuning', 'metal3');
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
  const { metadata } = object as { readonly metadata?: { readonly name?: unknown; readonly namespace?: unknown } };
  const namespace = metadata?.namespace;
  // cluster-bootstrap gets the object by its name.
  if (metadata?.name === undefined || metadata.name === null || metadata.name === '') return 'no name';
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

function findErrors(object: object): string[] {
  const files = [{ path: 'a.yaml', content: Buffer.from(stringify(object)) }];
  const input = { installer: undefined, hasFolders: true, installConfig: undefined, files };
  const { problems } = findProblems(input, '4.20');
  return problems
    .filter(({ severity, code }) => severity === 'error' && !OTHER_CODES.has(code))
    .map(({ code, message }) => `${code}: ${message}`);
}

test.each(OBJECTS.map((object) => [object.kind, object.apiVersion, object] as const))(
  'accepts a %s of %s as the API server does',
  async (_kind, _apiVersion, object) => {
    expect(await findRejection(object)).toBeUndefined();
    expect(findErrors(object)).toEqual([]);
  },
);

test(
  'judges objects with one fault each as the API server does',
  async () => {
    const all = OBJECTS.flatMap((object) =>
      mutate(object).map(({ what, object: changed }) => ({ what: `${object.kind}: ${what}`, object: changed })),
    );
    const mutations = all.filter((_, index) => index % SHARE === 0);
    const verdicts = await new PQueue({ concurrency: CONCURRENCY }).addAll(
      mutations.map(({ what, object }) => async () => {
        const rejection = await findRejection(object as KubeObject);
        const isCustom = /\.openshift\.io\//.test((object as KubeObject).apiVersion);
        return { what, isCustom, rejection, errors: findErrors(object) };
      }),
    );
    const wrong = verdicts.filter(({ rejection, errors }) => rejection === undefined && errors.length > 0);
    // The API server does not check these in custom resources. The operators that decode them do.
    const isOperators = ({ errors: [error = '', ...others] }: (typeof wrong)[number]): boolean =>
      others.length === 0 && /must be (?:less than 2147483648|a registry or a repository)/.test(error);
    expect(wrong.filter((verdict) => !isOperators(verdict))).toEqual([]);
    const missed = verdicts.filter(({ rejection, errors }) => rejection !== undefined && errors.length === 0);
    expect(missed.filter(({ isCustom }) => isCustom).map(({ what }) => what)).toEqual(
      MISSED.filter((what) => verdicts.some((verdict) => verdict.what === what)),
    );
    // The API server validates built-in kinds in Go. The overlay repeats that, except for expressions of policies.
    expect(missed.length / verdicts.length).toBeLessThan(MAX_MISSED_SHARE);
  },
  TIMEOUT_MS,
);

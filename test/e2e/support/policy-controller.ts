import { join } from 'node:path';

import { cachePath } from '../control-plane/cache.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { findGoPrograms, type Log } from '../control-plane/go-build.ts';
import { expectStatus, type KubeClient, type KubeObject } from '../control-plane/kube-client.ts';
import { copyModule } from '../control-plane/module-files.ts';
import { until } from '../control-plane/until.ts';
import { kubectlOk } from './kubectl.ts';

/** Part of Advanced Cluster Management. `foreign-crds.ts` has its CRDs. */
const MODULE = 'open-cluster-management.io/config-policy-controller';
const VERSION = 'v0.16.0';
const PROGRAM = 'config-policy-controller';
/** On a hub, this is the namespace of a managed cluster. */
const NAMESPACE = 'policies';
const POLICIES = `/apis/policy.open-cluster-management.io/v1/namespaces/${NAMESPACE}/configurationpolicies`;

type RemediationAction = 'inform' | 'enforce';

/** A Policy of the hub. */
export type Policy = KubeObject & {
  readonly spec: {
    readonly remediationAction: RemediationAction;
    readonly 'policy-templates': readonly {
      readonly objectDefinition: KubeObject & { readonly spec: Readonly<Record<string, unknown>> };
    }[];
  };
};

interface Status {
  readonly compliant?: string;
  readonly lastEvaluatedGeneration?: number;
  readonly compliancyDetails?: readonly { readonly conditions?: readonly { readonly message: string }[] }[];
}

/** The program from the cache, or built from its Go module. */
export async function findPolicyController(log: Log): Promise<string> {
  const directory = await findGoPrograms({
    directory: cachePath('policy-controller', VERSION),
    what: `${MODULE} ${VERSION}`,
    programs: [{ name: PROGRAM, package: '.' }],
    prepare: (module) => copyModule(`${MODULE}@${VERSION}`, module),
    log,
  });
  return join(directory, PROGRAM);
}

/** Evaluates ConfigurationPolicies in a managed cluster, with the controller of Advanced Cluster Management. */
export class PolicyController {
  readonly #admin: KubeClient;

  private constructor({ apiServer }: ControlPlane) {
    this.#admin = apiServer.admin;
  }

  /** The cluster needs the CRDs of ClusterClaim and ConfigurationPolicy. */
  static async start(controlPlane: ControlPlane, program: string): Promise<PolicyController> {
    await kubectlOk(controlPlane, ['create', 'namespace', NAMESPACE]);
    // In seconds between two evaluations.
    const flags = ['--evaluation-backoff=1', '--metrics-bind-address=0', '--health-probe-bind-address=0'];
    const args = ['controller', '--leader-elect=false', '--enable-lease=false', '--log-level=0', ...flags];
    const { kubeconfig: KUBECONFIG } = controlPlane.apiServer;
    const namespaces = { WATCH_NAMESPACE: NAMESPACE, POD_NAMESPACE: NAMESPACE };
    const env = { PATH: process.env['PATH'], KUBECONFIG, ...namespaces };
    controlPlane.startChild('policy-controller', program, args, { env });
    return new PolicyController(controlPlane);
  }

  /** Sets the ClusterClaims of the managed cluster. */
  async setClaims(claims: Readonly<Record<string, string>>) {
    const apiVersion = 'cluster.open-cluster-management.io/v1alpha1';
    for (const [name, value] of Object.entries(claims)) {
      const claim = { apiVersion, kind: 'ClusterClaim', metadata: { name }, spec: { value } };
      await this.#apply(`/apis/${apiVersion}/clusterclaims/${name}`, claim);
    }
  }

  /** Brings a Policy to the managed cluster as the governance framework does, and returns when it is evaluated. */
  async evaluate({ metadata: { name }, spec }: Policy, remediationAction = spec.remediationAction) {
    for (const { objectDefinition } of spec['policy-templates']) {
      const metadata = { ...objectDefinition.metadata, namespace: NAMESPACE };
      const policy = { ...objectDefinition, metadata, spec: { ...objectDefinition.spec, remediationAction } };
      await this.#apply(`${POLICIES}/${metadata.name}`, policy);
    }
    await until(`the evaluation of ${name}`, async () => (await this.read(name)) !== undefined);
  }

  /** The compliance and the messages of a ConfigurationPolicy, once its latest version is evaluated. */
  async read(name: string): Promise<{ compliant: string; messages: readonly string[] } | undefined> {
    const found = await this.#admin.find(`${POLICIES}/${name}`);
    if (found === undefined) return undefined;
    const { generation } = found.metadata as { readonly generation?: number };
    const { compliant, lastEvaluatedGeneration, compliancyDetails = [] } = (found.status ?? {}) as Status;
    if (compliant === undefined || lastEvaluatedGeneration !== generation) return undefined;
    const messages = compliancyDetails.flatMap(({ conditions = [] }) => conditions.map(({ message }) => message));
    return { compliant, messages };
  }

  /** What its objects became, stays. */
  async remove(name: string) {
    await this.#admin.delete(`${POLICIES}/${name}`);
  }

  async #apply(path: string, object: object) {
    const query = { fieldManager: 'e2e', force: 'true' };
    const extras = { query, contentType: 'application/apply-patch+yaml' };
    expectStatus(await this.#admin.request('PATCH', path, object, extras), [200, 201], `PATCH ${path}`);
  }
}

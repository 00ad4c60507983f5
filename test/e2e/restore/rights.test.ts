import { join } from 'node:path';

import { afterAll, expect, onTestFinished, test } from 'vitest';

import { ClusterAccessError } from '../../../src/client/cluster-access.ts';
import type { KubeApi } from '../../../src/kube/api.ts';
import type { RestoreReport } from '../../../src/cli/restore/restore-run.ts';
import { restore } from '../../../src/cli/restore/restore-run.ts';
import { requestCertificate } from '../inspect/incident-b.ts';
import { unique } from '../support/cluster.ts';
import { buildDirectory } from '../support/kubectl.ts';
import { MANIFESTS } from '../support/overlays.ts';
import { createServiceAccount, type Rule } from '../support/service-account.ts';
import { StuckCluster } from './stuck-cluster.ts';

interface GrantedRule extends Rule {
  readonly resourceNames?: readonly string[];
}

const stuck = await StuckCluster.start();
const { cluster, controlPlane } = stuck;
// OpenShift enables it.
await controlPlane.apiServer.restart(['--enable-admission-plugins=OwnerReferencesPermissionEnforcement']);
const roles = await buildDirectory(controlPlane, join(MANIFESTS, 'overlays', 'restore-role'));
const role = roles.find(({ metadata }) => metadata.name === 'machineconfig-guard-restore');
const { rules } = role as unknown as { readonly rules: readonly GrantedRule[] };
const { missing } = await stuck.createStuckPool();
await requestCertificate(cluster, 'control0');

afterAll(() => controlPlane.stop());

/** A client with these rights, until the end of the test. */
async function connectWith(granted: readonly GrantedRule[]): Promise<KubeApi> {
  const api = stuck.connect(await createServiceAccount(cluster.admin, unique('restorer'), granted));
  onTestFinished(() => {
    api.close();
  });
  return api;
}

/** What a user sees of a dry run: its plan and the pending requests, or the missing right. */
async function tryRestore(api: KubeApi): Promise<unknown> {
  const options = {
    configs: [missing.config],
    isConfirmed: false,
    acceptContent: false,
    timeoutMs: 5_000,
  };
  try {
    return summarize(await restore(api, options));
  } catch (error) {
    if (error instanceof ClusterAccessError) return (error.cause as Error).message;
    throw error;
  }
}

function summarize({ configs, pendingCertificateRequests }: RestoreReport): unknown {
  const steps = configs.flatMap((config) => config.steps.map(({ action }) => action));
  return { steps, requests: pendingCertificateRequests.length };
}

const RIGHTS = rules.flatMap((rule) => rule.verbs.map((verb) => ({ rule, verb, resource: rule.resources?.[0] ?? '' })));
const STEPS = ['PausePool', 'CreateConfig', 'SetPoolStatus', 'AwaitMachines', 'UnpausePool', 'AwaitNodes'];
/** See "undoes the image" in node-source.test.ts. */
const OPTIONAL = new Set(['controllerconfigs', 'machineosbuilds', 'osimagestreams']);
const COMPLETE = { steps: STEPS, requests: 1 };

/** Without these two rights, the command knows less. */
function expectWithout(verb: string, resource: string): unknown {
  if (OPTIONAL.has(resource)) return COMPLETE;
  if (resource === 'configmaps') return { ...COMPLETE, steps: STEPS.filter((step) => step !== 'AwaitMachines') };
  if (resource === 'certificatesigningrequests') return { ...COMPLETE, requests: 0 };
  if (resource === 'machineconfigpools/finalizers') return expect.stringContaining('blockOwnerDeletion');
  return expect.stringContaining(`cannot ${verb} resource "${resource}"`);
}

test('the rights of the role suffice', async () => {
  const api = await connectWith(rules);
  // RBAC takes a moment to see a new binding.
  await expect.poll(() => tryRestore(api)).toEqual(COMPLETE);
});

test.each(RIGHTS)('the command needs its right to $verb $resource', async ({ rule, verb, resource }) => {
  const others = rules.map((other) =>
    other === rule ? { ...rule, verbs: rule.verbs.filter((granted) => granted !== verb) } : other,
  );
  const api = await connectWith(others.filter(({ verbs }) => verbs.length > 0));
  await expect.poll(() => tryRestore(api)).toEqual(expectWithout(verb, resource));
});

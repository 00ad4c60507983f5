import { Command, Option } from 'commander';
import { checkImage } from '../../install/image.ts';
import { addClusterFlags } from '../../client/cluster-options.ts';
import { createParser, parseText, parseVersionOption } from '../../client/option-parsers.ts';
import { Output } from '../../client/output/output.ts';
import { addRecordedFlags, EXAMPLE_IMAGE, type RenderFlags } from './render-flags.ts';

const parseImage = createParser(
  { test: (value) => checkImage(value).valid },
  'Must be an image reference, such as registry.example.com/machineconfig-guard@sha256:… with all 64 digits.',
);

export function createRenderCommand(): Command {
  const command = new Command('render')
    .description("Write the manifests of the guard, for `oc apply` or for an installer's openshift/ directory.")
    .option('--out <dir>', 'output directory, created if missing; - prints one YAML stream', parseText)
    .option(
      '--image <reference>',
      'image of the guard, preferably with a digest (default with --from-cluster: that of the installed guard)',
      parseImage,
    )
    .option('--from-cluster', 'read the version of the cluster, and keep image, authority and flags of its guard')
    .option('--new-authority', 'with --from-cluster: replace the authority of the installed guard')
    .addOption(
      new Option('--openshift-version <version>', 'OpenShift version of the cluster, such as 4.18')
        .argParser(parseVersionOption)
        .conflicts('fromCluster'),
    )
    .addOption(
      new Option(
        '--policy',
        'print a Policy of Advanced Cluster Management for clusters from OpenShift 4.15 on',
      ).conflicts(['singleNode', 'fromCluster', 'openshiftVersion']),
    )
    .option('--force', 'overwrite or remove the files of an earlier run; keep all other files')
    .addHelpText(
      'after',
      `
For a running cluster, pipe the output of --out - to \`oc apply\`. It contains the
private key of the authority, so do not store it. The same command installs,
upgrades and repairs: --from-cluster keeps image, authority, and each flag of
the installed guard that you do not pass, and names the flags on stderr. An
existing MachineConfigGuard keeps its mode and hold. Without --from-cluster or
--tls service-ca, every run creates a new authority.

With --new-authority, the API servers trust both authorities. Then apply the
output without it: they trust only the new one.

Without a version, objects that need OpenShift 4.16 or 4.17 are left out. On
4.14, failurePolicy is Ignore.

Profiles with the guard:
  fail-closed              while the guard is down, the API server denies every
                           deletion of a rendered MachineConfig
  fail-open-with-floor     while the guard is down, the policy floor checks the
                           deletions (OpenShift 4.17 or newer)
Profiles without it, in addition or alone; policies need OpenShift 4.17:
  monitoring               metrics and alerts; --from-cluster finds the issuer
                           of the guard's certificates
  override-policy          a policy lets only users who may delete a
                           MachineConfig set the annotation that allows it
  platform-alert           alerts that use metrics of the API server
  policy-floor             policies deny the deletion of a config in use
  pool-deletion-warning    a policy warns if a deleted pool still has machines
  reference-policy         a policy denies that a node or a pool names a text
                           that no rendered MachineConfig can have
  restore-role             ClusterRoles for \`restore\`, bound to no user
  verify-role              a ClusterRole for \`verify\`, bound to no user
  webhook-deletion-reason  a policy denies the deletion of the guard's webhook
                           configuration without a reason

Permissions: none. With --from-cluster: get the objects of the installed guard.
Exit codes: 0 written, 1 the installed guard cannot be upgraded, 2 wrong usage,
unwritable directory or existing files, 3 the API server is unreachable or
denies access.

Examples:
  machineconfig-guard render --from-cluster --out - \\
    --image ${EXAMPLE_IMAGE} | oc diff -f -
  machineconfig-guard render --from-cluster --out - \\
    --image ${EXAMPLE_IMAGE} | oc apply -f -
  machineconfig-guard render --from-cluster --profile policy-floor --out - |
    oc apply -f -
  machineconfig-guard render --openshift-version 4.18 --out openshift/ \\
    --image ${EXAMPLE_IMAGE}`,
    )
    .action(async (flags: RenderFlags) => {
      const isGiven = (name: string): boolean => command.getOptionValueSource(name) === 'cli';
      // node-forge and the manifests are slow to load.
      const { runRender } = await import('./run-render.ts');
      await runRender(flags, isGiven, new Output(command, flags));
    });
  addRecordedFlags(command);
  return addClusterFlags(command);
}

/** One kind of problem. docs/internals/decisions/0012-check-manifests.md has the evidence. */
interface Rule {
  /**
   * An error lets an install fail, or the cluster render other configs than the bootstrap host. `loss`: an error only
   * for what configs are rendered from. `contents`: an error only in a MachineConfig that a pool selects.
   */
  readonly severity: 'error' | 'warning' | 'loss' | 'contents';
  readonly code: string;
  /** What is wrong and what follows, with %s for a detail. */
  readonly message: string;
  readonly advice: string;
  /** The releases that have it: `before` one, or `from` one on. Without `--openshift-version` it is a warning. */
  readonly releases: string | undefined;
}

// Each row: severity, code, perhaps releases, what is wrong and what follows, what to do.
const ROWS = `
warning ButaneFile: Butane, which no installer reads; run butane, and add the YAML that it writes
warning DuplicateFileName: openshift/ has a file of this name: both readers get only that file; rename one
warning EarlyDirectory: only the agent-based installer reads manifests now; for others, first run create manifests
warning IgnoredDirectory: no installer reads this directory; move its files one level up
warning IgnoredFile: no installer reads this ending; end the name with .yaml, or move the file elsewhere

loss DifferentReading: the bootstrap host and the cluster read other values of %s;
  end every line with one line feed, and write each key once
warning DuplicateKey: %s is there twice: only the last one counts; delete one
error EmptyDocument: the first document is empty: cluster-bootstrap rejects all manifests; delete it (or --split)
error HiddenFile: hidden: the cluster can get the objects, but the bootstrap host does not render them; rename it
loss MultipleDocuments: %s documents: the bootstrap host reads all, the cluster gets only the first;
  write one per file (--split)
error Unparsable: %s: the bootstrap host fails; repair it: YAML in UTF-8, JSON after {, only comments after ---
error UnparsableInCluster: %s: cluster-bootstrap reads JSON as YAML, and then rejects all manifests; write it as YAML

error ButaneObject: Butane, not a manifest: the bootstrap of the cluster fails; run butane, and keep what it writes
error ClientKind: only a client or a hub reads this kind: no new cluster has it; move the file elsewhere
error IncompleteObject: %s is missing: the bootstrap of the cluster fails; add it, or move the file elsewhere
error ObjectList: cluster-bootstrap takes an object with items for a list, and rejects all manifests;
  write single objects
loss DuplicateObject: it is in %s, too: the bootstrap host reads both, the cluster gets only that one;
  rename one if both are needed, else delete one
error InvalidName: %s: the API rejects the object for ever; correct the name
error InvalidValue: %s: the bootstrap of the cluster fails; correct the value
warning MissingDefinition: no release has the group %s: the API rejects it until a CRD of the group exists;
  add the CRD, or create the object after the install
error MissingNamespace: nothing creates namespace %s: the API rejects the object for ever; add the namespace
warning NewNamespace: no release has created namespace %s so far; add it to the manifests
error NoNamespace: cluster-bootstrap needs the namespace of this kind: the API rejects the object for ever;
  add metadata.namespace
error NotAString: %s: the bootstrap of the cluster fails; put the value into quotes
warning OnlyInCluster: the bootstrap host reads %s instead: the renders can differ; create it after the install
warning Placeholder: %s looks like a placeholder; replace it by a value
warning UnknownField: no release reads the field %s; correct its name or its indentation
error UnknownKind: no cluster has this kind, because its apiVersion is %s and case counts: the API rejects it for ever;
  correct kind and apiVersion

error BuiltInPool: the bootstrap host reads it beside its own pool: the renders differ; change the pool later
contents CopiedConfig: a copy of what an operator has generated: the bootstrap host fails if a pool selects it;
  delete it, or if the config is yours only the annotation generated-by-controller-version
contents DuplicateEntry: %s is there twice: the bootstrap host fails; delete one
error EmptyPool: the pool selects no MachineConfig: the bootstrap host fails; select the role worker, too
warning EmptyRole: the pool selects no MachineConfig of master or worker; select the role worker, too
contents InvalidContents: %s: the bootstrap host fails; correct the value
warning InstallerName: the installer adds a config of this name for sshKey, hyperthreading or fips in
  install-config.yaml, and then the renders differ; rename it
contents KernelDevel: a pool has the extension kernel-devel and another kernelType than default: the bootstrap host
  fails; remove one
warning MissingRole: no pool selects it without the label machineconfiguration.openshift.io/role; add the label
error MultipleConfigs: %s selects the same pool: the bootstrap host fails; merge them
warning NoPool: no pool has %s; correct the role, or add the pool
contents OperatorName: the operator writes a config of this name: the renders differ; rename it
contents RenderedName: only the operator creates rendered configs, and this one is a source like others; delete it
contents UncomparedFile: %s: the machine-config-daemon compares only data URLs without append, so every node of
  the pool becomes Degraded; write the whole content as a data URL
warning UnselectedPool: it selects no pool of the manifests; correct the labels of machineConfigPoolSelector
contents UnlabeledConfig: a pool selects it, although it has no labels: the bootstrap host fails; add the role
contents UnsupportedIgnition: no release reads this Ignition version; use 3.4.0

contents IgnitionRelease before 4.19: the operator does not read Ignition 3.5; use 3.4.0
contents OldIgnitionRelease before 4.14: the operator reads Ignition only up to 3.2; use 3.2.0
error CgroupRelease from 4.20: the bootstrap host fails with the cgroup mode v1; use v2
error MirrorRelease before 4.15: the bootstrap host rejects it beside an ImageDigestMirrorSet; write one of the kinds
error PolicyRelease before 4.20: the API has this kind only as v1alpha1; create it after an update
error PrebuiltRelease from 4.21: the bootstrap host needs the annotation pre-built-image with a digest; add it
error RuntimeRelease from 5.0: RHEL 10 has no runc; use crun

error RenderFails: the operator ends with %s; correct the manifest, or the install fails in the same way
error RendersDiffer: the pool gets %s; make both read the same, or nodes wait for a config that never existed
`;
export const RULES = new Map<string, Rule>();
for (const [, severity, code = '', releases, message = '', advice = ''] of ROWS.replaceAll('\n  ', ' ').matchAll(
  /^(\w+) (\w+)(?: ((?:from|before) [\d.]+))?: (.*); (.*)$/gm,
)) {
  RULES.set(code, { severity: severity as Rule['severity'], code, message, advice, releases });
}

export function getRule(code: string): Rule {
  const rule = RULES.get(code);
  if (rule === undefined) throw new Error(`there is no rule ${code}`);
  return rule;
}

import { matchesNodeSelector } from '../../mco/pool-of-node.ts';
import {
  KUBELET_CONFIG,
  MACHINE_CONFIG,
  POOL,
  RUNTIME_CONFIG,
  type Json,
  type ManifestObject,
  type ManifestSet,
  ROLE_LABEL,
  ROLES,
} from '../manifest-set.ts';
import { changesRenders, formatMiB, getRole } from '../render-inputs.ts';
import { MAX_OBJECT_BYTES } from './object-rules.ts';
import { type Findings, ifSelected, type ObjectRule } from './rule.ts';

/** What the operator writes for a KubeletConfig or a ContainerRuntimeConfig. */
const KIND_BY_OPERATOR_NAME: Readonly<Record<string, string>> = {
  '99-ROLE-generated-kubelet': KUBELET_CONFIG,
  '99-ROLE-generated-containerruntime': RUNTIME_CONFIG,
};
const GENERATED = 'machineconfiguration.openshift.io/generated-by-controller-version';
const RENDERED = /^rendered-/;
const OTHER_KERNEL = /^(?:realtime|64k-pages)$/;
/** What every rendered config contains besides the manifests, at least. */
const BASE_BYTES = 100_000;

/** Rules about what the machine-config-operator renders, in the order in which they are applied. */
export const OPERATOR_RULES = {
  NoPool: {
    kinds: [MACHINE_CONFIG],
    severity: 'warning',
    isLoss: true,
    find: ({ labels, name }, { findPools }) =>
      findPools(labels).length === 0 && (getRole(labels) ?? (RENDERED.test(name) ? false : 'no role')),
    message: (role) => `no pool selects it: it has ${role}`,
    advice: 'correct the label machineconfiguration.openshift.io/role, or add the pool',
  },
  CopiedConfig: {
    kinds: [MACHINE_CONFIG],
    severity: ifSelected,
    find: ({ annotations }) => Boolean(annotations[GENERATED]),
    message: 'a copy of what an operator has generated: the bootstrap host fails if a pool selects it',
    advice: 'delete it, or if the config is yours only the annotation generated-by-controller-version',
  },
  RenderedName: {
    kinds: [MACHINE_CONFIG],
    severity: 'warning',
    find: ({ name, annotations }) => RENDERED.test(name) && !annotations[GENERATED],
    message: 'only the operator creates rendered configs, and this one is a source like others',
    advice: 'delete it',
  },
  OperatorName: {
    kinds: [MACHINE_CONFIG],
    severity: (object, set) => (changesRenders(object, set) ? 'error' : 'warning'),
    find: hasOperatorName,
    message: 'the operator writes a config of this name: the renders differ',
    advice: 'rename it',
  },
  InstallerName: {
    kinds: [MACHINE_CONFIG],
    severity: 'warning',
    find: ({ name, manifest }, { catalog }) =>
      catalog.has('installerConfigs', name) && !manifest.fileName.startsWith('99_openshift-machineconfig_'),
    message:
      'the installer adds a config of this name for sshKey, hyperthreading or fips in install-config.yaml, and then ' +
      'the renders differ',
    advice: 'rename it',
  },
  UnlabeledConfig: {
    kinds: [MACHINE_CONFIG],
    severity: ifSelected,
    find: ({ labels }, { findPools }) => labels === undefined && findPools().length > 0,
    message: 'a pool selects it, although it has no labels: the bootstrap host fails',
    advice: 'add the role',
  },
  KernelDevel: {
    kinds: [MACHINE_CONFIG],
    severity: ifSelected,
    find: hasKernelDevelWithoutKernel,
    message: 'a pool has the extension kernel-devel and another kernelType than default: the bootstrap host fails',
    advice: 'remove one',
  },
  RenderedSize: {
    kinds: [MACHINE_CONFIG],
    severity: 'error',
    find: findLargePools,
    message: (detail) => `the configs of pool ${detail}: etcd takes at most 1.5 MiB, so no rendered config exists`,
    advice: 'make the contents smaller, or load them when a node boots',
  },
  BuiltInPool: {
    kinds: [POOL],
    severity: 'error',
    find: ({ name }) => ROLES.includes(name),
    message: 'the bootstrap host reads it beside its own pool: the renders differ',
    advice: 'change the pool later',
  },
  EmptyPool: {
    kinds: [POOL],
    severity: ({ spec }, { configLabels }) =>
      configLabels.some((labels) => selects(spec, labels)) ? 'warning' : 'error',
    find: ({ spec }) => !ROLES.some((role) => selects(spec, { [ROLE_LABEL]: role })),
    message: 'the pool selects no MachineConfig of master or worker: without any, the bootstrap host fails',
    advice: 'select the role worker, too',
  },
  MultipleConfigs: {
    kinds: [KUBELET_CONFIG, RUNTIME_CONFIG],
    severity: 'error',
    find: findRival,
    message: (detail) => `${detail} selects the same pool: the bootstrap host fails`,
    advice: 'merge them, or delete a copy',
  },
  UnselectedPool: {
    kinds: [KUBELET_CONFIG, RUNTIME_CONFIG],
    severity: 'warning',
    isLoss: true,
    find: (object, { findSelectedPools }) => findSelectedPools(object).length === 0,
    message: 'it selects no pool of the manifests',
    advice: 'correct the labels of machineConfigPoolSelector',
  },
} satisfies Readonly<Record<string, ObjectRule>>;

function hasOperatorName({ name }: ManifestObject, set: ManifestSet): boolean {
  return ROLES.some((role) => {
    const pattern = name.replace(`-${role}`, '-ROLE');
    const causes = set.listOfType(KIND_BY_OPERATOR_NAME[pattern] ?? '');
    return (
      set.catalog.has('operatorConfigs', pattern) || causes.some((each) => set.findSelectedPools(each).includes(role))
    );
  });
}

function hasKernelDevelWithoutKernel({ labels, spec }: ManifestObject, set: ManifestSet): boolean {
  const { extensions } = spec;
  if (!Array.isArray(extensions) || !extensions.includes('kernel-devel')) return false;
  const pools = set.findPools(labels);
  const others = set.listOfType(MACHINE_CONFIG).filter((each) => OTHER_KERNEL.test(String(each.spec['kernelType'])));
  return others.some((other) => set.findPools(other.labels).some((pool) => pools.includes(pool)));
}

/** The pools whose configs are together larger than an object can be. Only the first config of the set finds them. */
function findLargePools(object: ManifestObject, set: ManifestSet): Findings {
  const configs = set.listOfType(MACHINE_CONFIG);
  if (configs[0] !== object) return false;
  const sizes = configs.map((config) => {
    const pools = set.findPools(config.labels);
    return { file: config.manifest.file, pools, bytes: Buffer.byteLength(JSON.stringify(config.spec)) };
  });
  return [...new Set(sizes.flatMap(({ pools }) => pools))].flatMap((pool) => {
    const ofPool = sizes.filter(({ pools }) => pools.includes(pool)).toSorted((a, b) => b.bytes - a.bytes);
    const total = ofPool.reduce((sum, { bytes }) => sum + bytes, BASE_BYTES);
    return total > MAX_OBJECT_BYTES ? [{ detail: `${pool} (${formatMiB(total)}, most in ${ofPool[0]?.file})` }] : [];
  });
}

function selects(spec: Json, labels: Json): boolean {
  return matchesNodeSelector(spec['machineConfigSelector'], labels);
}

function findRival(object: ManifestObject, set: ManifestSet): Findings {
  const pools = set.findSelectedPools(object);
  const rivals = set.listOfType(object.type).filter((each) => each !== object);
  return rivals.find((rival) => set.findSelectedPools(rival).some((pool) => pools.includes(pool)))?.manifest.file;
}

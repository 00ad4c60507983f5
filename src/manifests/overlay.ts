import { isRecord } from '../rendered-config/rendered-config.ts';
import { parseQuantity, SUBDOMAIN } from './formats.ts';
import { KUBELET_CONFIG, MACHINE_CONFIG, POOL, RUNTIME_CONFIG } from './kinds.ts';
import type { Json, ManifestObject } from './manifest-set.ts';
import { getValue } from './validate.ts';

/** What a program or the API checks in Go, and no schema says. */
export interface ValueCheck {
  /** The keys of the value, with `*` for each item of a list or a mapping. */
  readonly at: string;
  readonly must: string;
  /** A text must match a pattern. A value that is not set is not checked. */
  readonly test: RegExp | ((value: unknown) => boolean);
  /** Whether the keys of the mapping are checked, and not the value. */
  readonly ofKeys?: boolean;
}

const DNS_LABEL = /^[a-z\d](?:[-a-z\d]{0,61}[a-z\d])?$/;
const LABEL_NAME = '[A-Za-z\\d](?:[-\\w.]{0,61}[A-Za-z\\d])?';
const KEY_PREFIX = '(?:(?=[^/]{1,253}/)[a-z\\d][-a-z\\d.]*/)?';
const LABEL_KEY = new RegExp(`^${KEY_PREFIX}${LABEL_NAME}$`);
const DATA_KEY = /^(?!\.{1,2}$)[-._A-Za-z\d]{1,253}$/;
const HOST = '[a-zA-Z\\d](?:[-a-zA-Z\\d]*[a-zA-Z\\d])?(?:\\.[a-zA-Z\\d](?:[-a-zA-Z\\d]*[a-zA-Z\\d])?)*';
const REPOSITORY = `${HOST}(?::\\d+)?(?:/[a-z\\d]+(?:(?:[._]|__|-*)[a-z\\d]+)*)*`;
const MAX_DATA_BYTES = 1024 ** 2;
/** What a Secret of a type must contain (kubernetes, pkg/apis/core/validation/validation.go). */
const SECRET_KEYS: Readonly<Record<string, readonly string[]>> = {
  'kubernetes.io/tls': ['tls.crt', 'tls.key'],
  'kubernetes.io/ssh-auth': ['ssh-privatekey'],
  'kubernetes.io/dockerconfigjson': ['.dockerconfigjson'],
  'kubernetes.io/dockercfg': ['.dockercfg'],
};

const SUBDOMAIN_NAME: ValueCheck = {
  at: 'metadata.name',
  must: 'be lower case letters, digits, dashes and dots',
  test: SUBDOMAIN,
};
const LABEL_NAMES: ValueCheck = {
  at: 'metadata.name',
  must: 'be at most 63 lower case letters, digits and dashes',
  test: DNS_LABEL,
};
const PATH_NAME: ValueCheck = {
  at: 'metadata.name',
  must: 'not contain "/" or "%"',
  test: /^(?!\.{1,2}$)[^/%]+$/,
};
/** Groups and kinds whose names can have other characters. */
const PATH_NAMED = /^(?:rbac\.authorization\.k8s\.io|(?:authorization|oauth|security|user)\.openshift\.io) /;
const LABEL_NAMED: ReadonlySet<string> = new Set([' Namespace', ' Service', 'project.openshift.io Project']);

const METADATA: readonly ValueCheck[] = [
  { at: 'metadata.namespace', must: LABEL_NAMES.must, test: DNS_LABEL },
  { at: 'metadata.labels', must: 'be a key of a label', test: LABEL_KEY, ofKeys: true },
  {
    at: 'metadata.labels.*',
    must: 'be at most 63 letters, digits, "-", "_" and "."',
    test: new RegExp(`^(?:${LABEL_NAME})?$`),
  },
  {
    at: 'metadata.annotations',
    must: 'be a key of an annotation',
    test: new RegExp(LABEL_KEY, 'i'),
    ofKeys: true,
  },
];

const SELECTOR: readonly ValueCheck[] = ['machineConfigSelector', 'nodeSelector', 'machineConfigPoolSelector'].flatMap(
  (selector): ValueCheck[] => [
    { at: `spec.${selector}.matchLabels`, must: 'be a key of a label', test: LABEL_KEY, ofKeys: true },
    { at: `spec.${selector}.matchExpressions.*.key`, must: 'be a key of a label', test: LABEL_KEY },
    {
      at: `spec.${selector}.matchExpressions.*.operator`,
      must: 'be one of In, NotIn, Exists, DoesNotExist',
      test: /^(?:In|NotIn|Exists|DoesNotExist)$/,
    },
    {
      at: `spec.${selector}.matchExpressions.*`,
      must: 'have values for In and NotIn, and only for these',
      test: (expression) => {
        const { operator, values } = toRecord(expression);
        return /^(?:Not)?In$/.test(String(operator)) ? !isEmpty(values) : isEmpty(values);
      },
    },
  ],
);

/** What the controllers of the machine-config-operator check, by `group Kind`. */
const CHECKS: Readonly<Record<string, readonly ValueCheck[]>> = {
  [MACHINE_CONFIG]: [
    {
      at: 'spec.kernelType',
      must: 'be one of default, realtime, 64k-pages',
      test: /^(?:|default|realtime|64k-pages)$/,
    },
    {
      at: 'spec.extensions.*',
      must: 'be one of ipsec, kerberos, kernel-devel, sandboxed-containers, sysstat, two-node-ha, usbguard, wasm',
      test: /^(?:ipsec|kerberos|kernel-devel|sandboxed-containers|sysstat|two-node-ha|usbguard|wasm)$/,
    },
  ],
  [POOL]: SELECTOR,
  [KUBELET_CONFIG]: [
    ...SELECTOR,
    { at: 'spec', must: 'be set', test: (spec) => !isEmpty(spec) },
    { at: 'spec.logLevel', must: 'be from 1 to 10', test: (level) => Number(level) >= 1 && Number(level) <= 10 },
    {
      at: 'spec',
      must: 'not have autoSizingReserved and systemReserved',
      test: (spec) =>
        getValue(spec, ['autoSizingReserved']) !== true || isEmpty(getValue(spec, ['kubeletConfig', 'systemReserved'])),
    },
    // pkg/controller/kubelet-config/helpers.go.
    ...['cgroupDriver', 'clusterDNS', 'clusterDomain', 'featureGates', 'staticPodPath'].map((field) => {
      return { at: `spec.kubeletConfig.${field}`, must: 'not be set in an install', test: isEmpty };
    }),
  ],
  [RUNTIME_CONFIG]: [
    ...SELECTOR,
    {
      at: 'spec.containerRuntimeConfig.pidsLimit',
      must: 'be 0, or at least 20',
      test: (limit) => limit === 0 || Number(limit) >= 20,
    },
    {
      at: 'spec.containerRuntimeConfig.logLevel',
      must: 'be one of error, fatal, panic, warn, info, debug, trace',
      test: /^(?:|error|fatal|panic|warn|info|debug|trace)$/,
    },
    {
      at: 'spec.containerRuntimeConfig.logSizeMax',
      must: 'be more than 8192 bytes',
      test: (size) => isQuantity(size, (bytes) => bytes <= 0 || bytes > 8192),
    },
    {
      at: 'spec.containerRuntimeConfig.overlaySize',
      must: 'be a size, such as 8G',
      test: (size) => isQuantity(size, (bytes) => bytes >= 0),
    },
    {
      at: 'spec.containerRuntimeConfig.defaultRuntime',
      must: 'be one of runc, crun',
      test: /^(?:|runc|crun)$/,
    },
  ],
  ...Object.fromEntries(
    [
      ['config.openshift.io ImageDigestMirrorSet', 'imageDigestMirrors'],
      ['config.openshift.io ImageTagMirrorSet', 'imageTagMirrors'],
      ['operator.openshift.io ImageContentSourcePolicy', 'repositoryDigestMirrors'],
    ].map(([type, field]) => [
      type,
      [
        {
          at: `spec.${field}.*.source`,
          must: 'be a repository without a scheme, tag or digest',
          test: new RegExp(`^(?:\\*\\.${HOST}|${REPOSITORY})$`),
        },
        {
          at: `spec.${field}.*.mirrors.*`,
          must: 'be a repository without a scheme, tag or digest',
          test: new RegExp(`^${REPOSITORY}$`),
        },
      ],
    ]),
  ),
  'config.openshift.io Image': [
    {
      at: 'spec.registrySources',
      must: 'not have allowedRegistries and blockedRegistries',
      test: (sources) =>
        isEmpty(toRecord(sources)['allowedRegistries']) || isEmpty(toRecord(sources)['blockedRegistries']),
    },
  ],
  ' ConfigMap': [
    { at: 'data', must: 'be letters, digits, "-", "_" and "."', test: DATA_KEY, ofKeys: true },
    { at: 'binaryData', must: 'be letters, digits, "-", "_" and "."', test: DATA_KEY, ofKeys: true },
    { at: '', must: 'have at most 1 MiB of data', test: (object) => measureData(object, ['data', 'binaryData']) },
  ],
  ' Secret': [
    { at: 'data', must: 'be letters, digits, "-", "_" and "."', test: DATA_KEY, ofKeys: true },
    { at: 'stringData', must: 'be letters, digits, "-", "_" and "."', test: DATA_KEY, ofKeys: true },
    { at: '', must: 'have at most 1 MiB of data', test: (object) => measureData(object, ['data', 'stringData']) },
    { at: '', must: 'have the keys of its type in its data', test: hasSecretKeys },
  ],
  'apiextensions.k8s.io CustomResourceDefinition': [
    {
      at: '',
      must: 'have the name PLURAL.GROUP of its spec',
      test: (crd) => {
        const parts = [getValue(crd, ['spec', 'names', 'plural']), getValue(crd, ['spec', 'group'])];
        return getValue(crd, ['metadata', 'name']) === parts.join('.');
      },
    },
  ],
  'rbac.authorization.k8s.io ClusterRoleBinding': subjects(),
  'rbac.authorization.k8s.io RoleBinding': subjects(),
  ...Object.fromEntries(
    ['DaemonSet', 'Deployment', 'ReplicaSet', 'StatefulSet'].map((kind) => [
      `apps ${kind}`,
      [{ at: 'spec', must: 'have a selector that matches the labels of its template', test: selectsTemplate }],
    ]),
  ),
  'batch Job': [
    {
      at: 'spec.template.spec',
      must: 'have the restartPolicy Never or OnFailure',
      test: (spec) => /^(?:Never|OnFailure)$/.test(String(toRecord(spec)['restartPolicy'])),
    },
  ],
};

/** What is checked in an object, besides its schemas. */
export function listChecks({ type }: ManifestObject): readonly ValueCheck[] {
  const isOther = PATH_NAMED.test(type);
  const name = LABEL_NAMED.has(type) ? LABEL_NAMES : isOther ? PATH_NAME : SUBDOMAIN_NAME;
  return [name, ...METADATA, ...(CHECKS[type] ?? [])];
}

function subjects(): ValueCheck[] {
  return [
    {
      at: 'subjects.*',
      must: 'have the namespace of a ServiceAccount',
      test: (subject) => toRecord(subject)['kind'] !== 'ServiceAccount' || !isEmpty(toRecord(subject)['namespace']),
    },
    { at: 'roleRef.kind', must: 'be one of ClusterRole, Role', test: /^(?:Cluster)?Role$/ },
  ];
}

function toRecord(value: unknown): Json {
  return isRecord(value) ? value : {};
}

export function isEmpty(value: unknown): boolean {
  const isEmptyObject = typeof value === 'object' && value !== null && Object.keys(value).length === 0;
  return value === undefined || value === null || value === '' || isEmptyObject;
}

/** The operator rounds up to whole bytes. */
function isQuantity(value: unknown, test: (bytes: number) => boolean): boolean {
  const bytes = typeof value === 'string' || typeof value === 'number' ? parseQuantity(String(value)) : undefined;
  return bytes !== undefined && test(bytes < 0 ? Math.floor(bytes) : Math.ceil(bytes));
}

function measureData(object: unknown, fields: readonly string[]): boolean {
  const values = fields.flatMap((field) => Object.values(toRecord(toRecord(object)[field])));
  return values.reduce<number>((sum, value) => sum + Buffer.byteLength(String(value)), 0) <= MAX_DATA_BYTES;
}

function hasSecretKeys(secret: unknown): boolean {
  const { type, data, stringData } = toRecord(secret);
  const keys = Object.keys({ ...toRecord(data), ...toRecord(stringData) });
  return (SECRET_KEYS[String(type)] ?? []).every((key) => keys.includes(key));
}

function selectsTemplate(spec: unknown): boolean {
  const labels = toRecord(getValue(spec, ['template', 'metadata', 'labels']));
  const wanted = Object.entries(toRecord(getValue(spec, ['selector', 'matchLabels'])));
  const isSelecting = wanted.length > 0 || !isEmpty(getValue(spec, ['selector', 'matchExpressions']));
  return isSelecting && wanted.every(([key, value]) => labels[key] === value);
}

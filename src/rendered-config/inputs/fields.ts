/** What a field must contain. Other fields are texts. */
export interface Shape {
  readonly type: string;
  readonly isRequired: boolean;
  readonly container: 'list' | 'mapping' | undefined;
  /** Of the mapping. Empty if it can be any text. */
  readonly keyType: string | undefined;
  /** The field that identifies an item of a list. Undefined if equal items are allowed, '' for the item itself. */
  readonly identity: string | undefined;
  /** Undefined for a scalar. Its type can be a check of the whole object. */
  readonly fields: ReadonlyMap<string, Shape> | undefined;
}

// Each field is a name, `!` if it is required, `[]`, or `{}` with a type of the keys, `#` with the identity of an item,
// `:` with its type or its values, and its own fields in parentheses. The fields are those of the types in Go that the
// operator 4.20 decodes: test/e2e/operator compares them with what it accepts.
const EXPRESSION = 'key!:labelKey operator:In|NotIn|Exists|DoesNotExist values[]:label';
const SELECTOR = `(matchLabels{labelKey}:label matchExpressions[]:expression(${EXPRESSION}))`;
const TLS_PROFILE = `tlsSecurityProfile(type:Old|Intermediate|Modern|Custom old:any intermediate:any modern:any
  custom(ciphers[] minTLSVersion:VersionTLS10|VersionTLS11|VersionTLS12|VersionTLS13))`;
const RESOURCE = '(compression:|gzip httpHeaders:any source:source verification(hash:hash))';
const NODE = 'path!:path overwrite:boolean user:owner(id:integer name) group:owner(id:integer name)';
const UNITS = `units[]#name(name!:unit enabled:boolean mask:boolean contents
  dropins[]#name(name!:dropin contents))`;
const TIMEOUTS = 'timeouts(httpResponseHeaders:integer httpTotal:integer)';
const USER = `name gecos homeDir noCreateHome:boolean noLogInit:boolean noUserGroup:boolean passwordHash primaryGroup
  shell system:boolean uid:integer`;
const IGNITION_3 = `
  ignition!(version! config(merge[]${RESOURCE} replace${RESOURCE}) ${TIMEOUTS} proxy:any
    security(tls(certificateAuthorities[]${RESOURCE})))
  kernelArguments(shouldExist[]# shouldNotExist[]#)
  passwd(groups[]#name(gid:integer name passwordHash shouldExist:boolean system:boolean)
    users[]#name(${USER} groups[]# shouldExist:boolean sshAuthorizedKeys[]#))
  storage(directories[]#path(${NODE} mode:mode) links[]#path(${NODE} hard:boolean target!:text)
    files[]#path(${NODE} mode:mode contents${RESOURCE} append[]${RESOURCE})
    disks:any filesystems:any luks:any raid:any)
  systemd(${UNITS})`;
const IGNITION_2 = `
  ignition!(version! config:any ${TIMEOUTS} security(tls(certificateAuthorities[](source:source
    verification(hash:hash)))))
  networkd:any
  passwd(groups[](gid:integer name passwordHash system:boolean)
    users[](${USER} groups[] sshAuthorizedKeys[] create:any))
  storage(directories[](filesystem! ${NODE} mode:mode) links[](filesystem! ${NODE} hard:boolean target)
    files[](filesystem! ${NODE} append:boolean mode:mode contents(compression:|gzip source:source
      verification(hash:hash))) disks:any filesystems:any raid:any)
  systemd(${UNITS.replaceAll('#name', '')})`;
/** Of a KubeletConfiguration, by their types. The star stands for the others. */
const KUBELET_FIELDS: Readonly<Record<string, string>> = {
  boolean: `enableServer rotateCertificates serverTLSBootstrap enableDebuggingHandlers enableContentionProfiling
    cgroupsPerQOS singleProcessOOMKill runOnce cpuCFSQuota serializeImagePulls enableControllerAttachDetach
    protectKernelDefaults makeIPTablesUtilChains failSwapOn kernelMemcgNotification enableSystemLogHandler
    enableSystemLogQuery enableProfilingHandler enableDebugFlagsHandler seccompDefault registerNode
    localStorageCapacityIsolation failCgroupV1 mergeDefaultEvictionSettings`,
  duration: `syncFrequency fileCheckFrequency httpCheckFrequency streamingConnectionIdleTimeout
    nodeStatusUpdateFrequency nodeStatusReportFrequency imageMinimumGCAge imageMaximumGCAge volumeStatsAggPeriod
    cpuManagerReconcilePeriod runtimeRequestTimeout cpuCFSQuotaPeriod evictionPressureTransitionPeriod
    containerLogMonitorInterval shutdownGracePeriod shutdownGracePeriodCriticalPods`,
  integer: `port readOnlyPort registryPullQPS registryBurst eventRecordQPS eventBurst healthzPort oomScoreAdj
    nodeLeaseDurationSeconds imageGCHighThresholdPercent imageGCLowThresholdPercent maxPods podPidsLimit
    nodeStatusMaxImages maxOpenFiles kubeAPIQPS kubeAPIBurst maxParallelImagePulls evictionMaxPodGracePeriod podsPerCore
    iptablesMasqueradeBit iptablesDropBit containerLogMaxFiles containerLogMaxWorkers`,
  string: `tlsCipherSuites[] preloadedImagesVerificationAllowlist[] cpuManagerPolicyOptions{} evictionHard{}
    evictionSoft{} topologyManagerPolicyOptions{} qosReserved{} evictionSoftGracePeriod{} evictionMinimumReclaim{}
    systemReserved{} kubeReserved{} enforceNodeAllocatable[] allowedUnsafeSysctls[] reservedSystemCPUs cpuManagerPolicy
    memoryManagerPolicy topologyManagerPolicy topologyManagerScope systemReservedCgroup kubeReservedCgroup
    containerLogMaxSize hairpinMode tlsMinVersion address cgroupRoot kubeletCgroups systemCgroups resolvConf`,
  object: 'authentication authorization logging memorySwap',
  number: 'memoryThrottlingFactor',
  any: '*',
  // An install cannot set them (pkg/controller/kubelet-config/helpers.go).
  unset: 'cgroupDriver clusterDNS clusterDomain featureGates staticPodPath',
};
const KUBELET = Object.entries(KUBELET_FIELDS).map(([type, names]) => names.replaceAll(/\S+/g, `$&:${type}`));
const MIRRORS = `(source!:mirrorSource mirrors[]#:mirror
  mirrorSourcePolicy:NeverContactSource|AllowContactingSource)`;
const METADATA = 'namespace labels{labelKey}:label annotations{annotationKey} finalizers[] *:any';
const SHAPES: Readonly<Record<string, string>> = {
  Metadata: `apiVersion kind metadata!(name:objectName ${METADATA}) *:any`,
  'Metadata of Namespace': `apiVersion kind metadata!(name:namespace ${METADATA}) *:any`,
  'Metadata of Role': `apiVersion kind metadata!(name:pathSegment ${METADATA}) *:any`,
  ConfigMap: 'data{} binaryData{}:base64 immutable:boolean',
  Secret: 'data{}:base64 stringData{} type immutable:boolean',
  MachineConfig: `spec(osImageURL baseOSExtensionsContainerImage config:object fips:boolean
    extensions[]:ipsec|kerberos|kernel-devel|sandboxed-containers|sysstat|two-node-ha|usbguard|wasm
    kernelArguments[] kernelType:|default|realtime|64k-pages)`,
  MachineConfigPool: `spec!(machineConfigSelector${SELECTOR} nodeSelector${SELECTOR} paused:boolean maxUnavailable:count
    configuration:any pinnedImageSets[](name) osImageStream:any)`,
  KubeletConfig: `spec!:kubelet(autoSizingReserved:boolean logLevel:logLevel
    machineConfigPoolSelector${SELECTOR} ${TLS_PROFILE} kubeletConfig(${KUBELET.join(' ')}))`,
  ContainerRuntimeConfig: `spec!(machineConfigPoolSelector${SELECTOR} containerRuntimeConfig!(pidsLimit:pidsLimit
    logLevel:|error|fatal|panic|warn|info|debug|trace logSizeMax:logSize overlaySize:size defaultRuntime:|runc|crun))`,
  ImageDigestMirrorSet: `spec!(imageDigestMirrors[]${MIRRORS})`,
  ImageTagMirrorSet: `spec!(imageTagMirrors[]${MIRRORS})`,
  ImageContentSourcePolicy: `spec!(repositoryDigestMirrors[](source!:mirrorSource mirrors[]:mirror))`,
  Node: `spec!(cgroupMode:|v1|v2 minimumKubeletVersion
    workerLatencyProfile:|Default|MediumUpdateAverageReaction|LowUpdateSlowReaction)`,
  APIServer: `spec!(servingCerts(namedCertificates[](names[] servingCertificate(name))) clientCA(name) encryption:any
    additionalCORSAllowedOrigins[] ${TLS_PROFILE} audit:any)`,
  'Ignition 2': IGNITION_2,
  'Ignition 3': IGNITION_3,
};
const OBJECT = 'apiVersion:any kind:any metadata:any status:any';
const PART = /([-*\w]+)(!?)(?:(\[\])|\{(\w*)\})?(?:#(\w*))?(?::([^\s()]*))?(\()?|(\))/g;
const NO_SHAPE = { isRequired: false, container: undefined, keyType: undefined, identity: undefined };

function compile(text: string): Shape {
  const root = new Map<string, Shape>();
  const parents = [root];
  for (const [, name, required, list, keyType, identity, ofType, open, close] of text.matchAll(PART)) {
    if (close !== undefined) parents.pop();
    if (name === undefined) continue;
    const fields = open === undefined ? undefined : new Map<string, Shape>();
    const type = ofType ?? (fields === undefined ? 'string' : 'object');
    const container = list ? 'list' : keyType === undefined ? undefined : 'mapping';
    parents.at(-1)?.set(name, { type, isRequired: required === '!', container, keyType, identity, fields });
    if (fields) parents.push(fields);
  }
  return { ...NO_SHAPE, type: 'object', fields: root };
}

/** The fields of the objects of a kind, or of an Ignition config. */
export const SHAPE_BY_KIND: ReadonlyMap<string, Shape> = new Map(
  Object.entries(SHAPES).map(([kind, text]) => [
    kind,
    compile(kind.startsWith('Ignition') ? text : `${OBJECT} ${text}`),
  ]),
);

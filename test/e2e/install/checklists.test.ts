import { describe, expect, test } from 'vitest';

import type { KubeObject } from '../control-plane/kube-client.ts';
import { buildDirectory } from '../support/kubectl.ts';
import { deploymentIn, overlay, OVERLAYS, type Deployment } from '../support/overlays.ts';
import { runBinaries } from '../support/run-binaries.ts';

const { kubectl } = await runBinaries();
const BUILT = new Map(
  await Promise.all(OVERLAYS.map(async (name) => [name, await buildDirectory(kubectl, overlay(name))] as const)),
);
const WITH_POD = OVERLAYS.filter((name) => deploymentIn(BUILT.get(name) ?? []) !== undefined);
const HOST_NETWORK = 'host-network';

interface AnyObject {
  readonly metadata: KubeObject['metadata'];
  readonly spec: Readonly<Record<string, unknown>>;
  readonly rules: readonly Rule[];
  readonly webhooks: readonly Readonly<Record<string, unknown>>[];
}

interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

interface PodSpec {
  readonly affinity?: unknown;
  readonly hostNetwork?: boolean;
  readonly priorityClassName: string;
  readonly nodeSelector: Readonly<Record<string, string>>;
  readonly tolerations: readonly {
    readonly key: string;
    readonly effect: string;
    readonly tolerationSeconds?: number;
  }[];
  readonly securityContext: unknown;
  readonly containers: readonly {
    readonly image: string;
    readonly resources: { readonly requests: Readonly<Record<string, string>>; readonly limits?: unknown };
    readonly securityContext: unknown;
    readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
    readonly readinessProbe: unknown;
    readonly livenessProbe: unknown;
    readonly terminationMessagePolicy: string;
  }[];
}

function all(name: string, kind: string): readonly AnyObject[] {
  return (BUILT.get(name) ?? []).filter((object) => object.kind === kind) as unknown as readonly AnyObject[];
}

function only(name: string, kind: string): AnyObject {
  const [object, ...others] = all(name, kind);
  if (object === undefined || others.length > 0)
    throw new Error(`${name} has ${others.length + 1} of ${kind}, not one`);
  return object;
}

function deployment(name: string): Deployment {
  return only(name, 'Deployment') as unknown as Deployment;
}

function podSpec(name: string): PodSpec {
  return deployment(name).spec.template.spec as unknown as PodSpec;
}

/** Everything the guard's own service account may do, wherever. */
function rights(name: string): readonly Rule[] {
  return [...all(name, 'ClusterRole'), ...all(name, 'Role')].flatMap(({ rules }) => rules);
}

describe.each(WITH_POD)('%s, webhook (Kubernetes: Admission Webhook Good Practices)', (name) => {
  const webhook = () => {
    const [one, ...others] = only(name, 'ValidatingWebhookConfiguration').webhooks;
    if (one === undefined || others.length > 0) throw new Error(`${name} has ${others.length + 1} webhooks, not one`);
    return one;
  };

  test('narrow scope: one resource, one verb, cluster-scoped', () => {
    expect(webhook()['rules']).toEqual([
      {
        apiGroups: ['machineconfiguration.openshift.io'],
        apiVersions: ['*'],
        operations: ['DELETE'],
        resources: ['machineconfigs'],
        scope: 'Cluster',
      },
    ]);
  });

  test('match conditions cut what is left', () => {
    expect(webhook()['matchConditions']).toEqual([
      { name: 'rendered', expression: 'oldObject.metadata.name.startsWith("rendered-")' },
    ]);
  });

  test('a small timeout', () => {
    expect(webhook()['timeoutSeconds']).toBeLessThanOrEqual(5);
  });

  test('matchPolicy Equivalent', () => {
    expect(webhook()['matchPolicy']).toBe('Equivalent');
  });

  test('side effects are declared and none on a dry run', () => {
    expect(webhook()['sideEffects']).toBe('NoneOnDryRun');
  });

  test('failing open or closed is a decision, and only the one with the floor fails open', () => {
    expect(webhook()['failurePolicy']).toBe(name === 'fail-open-with-floor' ? 'Ignore' : 'Fail');
  });

  test('files in git carry no caBundle', () => {
    expect(webhook()['clientConfig']).not.toHaveProperty('caBundle');
    expect(all(name, 'Secret').filter((secret) => 'data' in secret || 'stringData' in secret)).toEqual([]);
  });

  test('behind a Service, whose port 443 leads to the port that serves', () => {
    const { service } = webhook()['clientConfig'] as { service: { port: number } };
    const { ports } = only(name, 'Service').spec as { ports: readonly { port: number; targetPort: string }[] };
    const target = ports.find(({ port }) => port === service.port)?.targetPort;
    expect(podSpec(name).containers[0]?.ports.map((port) => port.name)).toContain(target);
  });

  test('the guard can never trigger itself: no right to delete or write what it guards', () => {
    const mco = rights(name).filter(({ apiGroups = [] }) => apiGroups.includes('machineconfiguration.openshift.io'));
    expect(new Set(mco.flatMap(({ verbs }) => verbs))).toEqual(new Set(['get', 'list', 'watch']));
    const nodes = rights(name).filter(({ resources = [] }) => resources.includes('nodes'));
    expect(new Set(nodes.flatMap(({ verbs }) => verbs))).toEqual(new Set(['get', 'list', 'watch']));
  });

  test('least rights: no wildcard, nothing about webhooks or roles, one Secret by name', () => {
    const granted = rights(name);
    expect(
      granted.flatMap(({ verbs, resources = [], apiGroups = [] }) => [...verbs, ...resources, ...apiGroups]),
    ).not.toContain('*');
    const groups = new Set(granted.flatMap(({ apiGroups = [] }) => apiGroups));
    expect(groups).not.toContain('admissionregistration.k8s.io');
    expect(groups).not.toContain('rbac.authorization.k8s.io');
    expect(granted.filter(({ resources = [] }) => resources.includes('secrets'))).toEqual([
      {
        apiGroups: [''],
        resources: ['secrets'],
        resourceNames: ['machineconfig-guard-ca'],
        verbs: ['get', 'list', 'watch'],
      },
    ]);
  });
});

describe.each(WITH_POD)('%s, pods (OpenShift: CONVENTIONS.md of openshift/enhancements)', (name) => {
  test('high availability: two replicas, never on the same host; one on a single node', () => {
    const { replicas } = deployment(name).spec;
    expect(replicas).toBe(name === 'single-node' ? 1 : 2);
    if (name === 'single-node') expect(podSpec(name).affinity).toBeUndefined();
    else {
      expect(podSpec(name).affinity).toMatchObject({
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'kubernetes.io/hostname' }],
        },
      });
    }
  });

  test('upgrades: a rollout needs no third host, and with two replicas one serves on', () => {
    const { replicas, strategy } = deployment(name).spec;
    expect(strategy.rollingUpdate.maxUnavailable).toBe(1);
    if (name !== 'single-node') expect(replicas - strategy.rollingUpdate.maxUnavailable).toBeGreaterThan(0);
    // Two pods cannot have one port of one host.
    if (name === HOST_NETWORK) expect(strategy.rollingUpdate.maxSurge).toBe(0);
  });

  test('upgrades: the disruption budget lets a drain proceed, and unready pods do not hold it up', () => {
    const { spec } = only(name, 'PodDisruptionBudget');
    expect(spec).toMatchObject({ maxUnavailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow' });
    expect(spec).not.toHaveProperty('minAvailable');
  });

  test('priority class: system-cluster-critical', () => {
    expect(podSpec(name).priorityClassName).toBe('system-cluster-critical');
  });

  test('resources: requests for CPU (5m at least) and memory, no limits', () => {
    for (const { resources } of podSpec(name).containers) {
      expect(resources.limits).toBeUndefined();
      expect(Number(/^(\d+)m$/.exec(resources.requests['cpu'] ?? '')?.[1])).toBeGreaterThanOrEqual(5);
      expect(resources.requests['memory']).toMatch(/^\d+Mi$/);
    }
  });

  test('taints: control-plane nodes, off a lost node after 120 s, never one that is cordoned', () => {
    const { nodeSelector, tolerations } = podSpec(name);
    expect(nodeSelector).toEqual({ 'node-role.kubernetes.io/control-plane': '' });
    expect(tolerations.map(({ key, effect, tolerationSeconds }) => [key, effect, tolerationSeconds])).toEqual([
      ['node-role.kubernetes.io/master', 'NoSchedule', undefined],
      ['node-role.kubernetes.io/control-plane', 'NoSchedule', undefined],
      ['node.kubernetes.io/unreachable', 'NoExecute', 120],
      ['node.kubernetes.io/not-ready', 'NoExecute', 120],
    ]);
  });

  test('the security context constraint is pinned', () => {
    const { annotations } = deployment(name).spec.template.metadata;
    expect(annotations['openshift.io/required-scc']).toBe(name === HOST_NETWORK ? 'hostnetwork-v2' : 'restricted-v2');
    const bound = all(name, 'RoleBinding').filter((binding) => JSON.stringify(binding).includes('scc:hostnetwork-v2'));
    expect(bound).toHaveLength(name === HOST_NETWORK ? 1 : 0);
  });

  test('pod security: the namespace enforces, audits and warns at the strictest level that fits', () => {
    const level = name === HOST_NETWORK ? 'privileged' : 'restricted';
    expect(only(name, 'Namespace').metadata.labels).toMatchObject({
      'pod-security.kubernetes.io/enforce': level,
      'pod-security.kubernetes.io/audit': level,
      'pod-security.kubernetes.io/warn': level,
    });
  });

  test('no privilege, whatever the namespace would allow', () => {
    expect(podSpec(name).securityContext).toEqual({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    for (const { securityContext } of podSpec(name).containers) {
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
  });

  test('management workloads: the annotations of workload partitioning, and no default node selector', () => {
    expect(deployment(name).spec.template.metadata.annotations['target.workload.openshift.io/management']).toBe(
      '{"effect": "PreferredDuringScheduling"}',
    );
    expect(only(name, 'Namespace').metadata.annotations).toEqual({
      'openshift.io/node-selector': '',
      'workload.openshift.io/allowed': 'management',
    });
  });

  test('ports of the host are none that the control plane has', () => {
    const ports = podSpec(name).containers.flatMap((container) => container.ports.map((port) => port.containerPort));
    expect(podSpec(name).hostNetwork === true).toBe(name === HOST_NETWORK);
    expect(ports).toEqual(name === HOST_NETWORK ? [9843, 9844, 9845] : [9443, 8081, 8443]);
  });

  test('health endpoints need no credentials and are probed', () => {
    for (const { readinessProbe, livenessProbe, terminationMessagePolicy } of podSpec(name).containers) {
      expect(readinessProbe).toMatchObject({ httpGet: { path: '/readyz', port: 'health' } });
      expect(livenessProbe).toMatchObject({ httpGet: { path: '/healthz', port: 'health' } });
      expect(terminationMessagePolicy).toBe('FallbackToLogsOnError');
    }
  });

  test('network policy: the API server gets in from anywhere, metrics only for monitoring, egress is free', () => {
    const { spec } = only(name, 'NetworkPolicy');
    expect(spec['policyTypes']).toEqual(['Ingress']);
    const ingress = spec['ingress'] as readonly { ports: readonly { port: string }[]; from?: readonly unknown[] }[];
    expect(ingress.filter(({ from }) => from === undefined).map(({ ports }) => ports[0]?.port)).toEqual(['webhook']);
    expect(ingress.filter(({ from }) => from !== undefined).map(({ ports }) => ports[0]?.port)).toEqual(['metrics']);
  });

  test('priority and fairness: a flow schema for the service account', () => {
    expect(only(name, 'FlowSchema').spec).toMatchObject({ priorityLevelConfiguration: { name: 'workload-high' } });
  });

  test('the image is set through kustomize, by its one name', () => {
    expect(podSpec(name).containers.map(({ image }) => image)).toEqual(['machineconfig-guard:latest']);
  });

  test('no namespace that OpenShift reserves', () => {
    expect(only(name, 'Namespace').metadata.name).toBe('machineconfig-guard');
    expect((BUILT.get(name) ?? []).map(({ metadata }) => metadata.namespace)).not.toContainEqual(
      expect.stringMatching(/^openshift/),
    );
  });
});

test('no overlay carries a MachineConfigGuard: applying again must never change the mode', () => {
  expect([...BUILT.values()].flat().map(({ kind }) => kind)).not.toContain('MachineConfigGuard');
});

test('no overlay carries an input of the Machine Config Operator', () => {
  const versions = [...BUILT.values()].flat().map(({ apiVersion }) => apiVersion);
  expect(versions).not.toContainEqual(expect.stringMatching(/^(?:machineconfiguration|config)\.openshift\.io/));
});

test('our own kind is validated by its schema, not by a webhook', () => {
  for (const name of WITH_POD) {
    const { spec } = only(name, 'CustomResourceDefinition');
    expect(JSON.stringify(spec)).toContain('x-kubernetes-validations');
    expect(JSON.stringify(only(name, 'ValidatingWebhookConfiguration').webhooks)).not.toContain('machineconfigguards');
  }
});

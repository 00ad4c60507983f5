import type { V1PodSpec, V1Probe } from '@kubernetes/client-node';
import request from 'supertest';
import { expect } from 'vitest';
import { AUTHORITY_SECRET_PATH } from '../../../src/api/paths.ts';
import { createServeCommand } from '../../../src/cli/serve/serve.ts';
import {
  FLUSH_TIMEOUT_MS,
  MAX_CONNECTIONS,
  MAX_SCRAPE_CONNECTIONS,
  SCRAPE_DRAIN_TIMEOUT_MS,
} from '../../../src/guard/guard.ts';
import { parseQuantity } from '../../../src/manifests/cel.ts';
import { createHealthServer } from '../../../src/serving/health-server.ts';
import { DRAIN_TIMEOUT_MS } from '../../../src/serving/tls-server.ts';
import { RELEASE_TIMEOUT_MS } from '../../../src/status/lease.ts';
import { findAll } from '../../docs/pages.ts';
import { type Relation, required, sendOnce } from './relation.ts';

const PORT_NAMES = ['webhook', 'health', 'metrics'];
const PORT_FLAGS = ['secure-port', 'health-port', 'metrics-port'];
/** The type of the Secret that Prometheus presents. */
const SERVICE_ACCOUNT_TOKEN = 'kubernetes.io/service-account-token';
/** OpenShift's own, and the one that reads the ServiceMonitors of users. */
const MONITORING = ['openshift-monitoring', 'openshift-user-workload-monitoring'].map((namespace) => {
  return { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } } };
});
/** OpenShift gives this label to the source of all traffic from nodes. */
const API_SERVERS = {
  namespaceSelector: { matchLabels: { 'policy-group.network.openshift.io/host-network': '' } },
};

export const POD_RELATIONS: readonly Relation[] = [
  {
    rule: 'the kubelet kills a pod only after the longest stop of the guard',
    checkGuard: ({ pod }) => {
      const delayMs = Number(getServeDefault('shutdown-delay-duration'));
      const stopMs = delayMs + DRAIN_TIMEOUT_MS + FLUSH_TIMEOUT_MS + RELEASE_TIMEOUT_MS + SCRAPE_DRAIN_TIMEOUT_MS;
      expect(required(pod.terminationGracePeriodSeconds) * 1_000).toBeGreaterThan(stopMs);
    },
  },
  {
    rule: 'the liveness probe succeeds while the guard is not ready',
    checkGuard: async ({ container }) => expect(await probeUnready(container.livenessProbe)).toBe(200),
  },
  {
    rule: 'the kubelet probes a guard that starts each second, and waits an hour for its certificate',
    checkGuard: async ({ container: { startupProbe } }) => {
      expect(await probeUnready(startupProbe)).toBe(200);
      expect([startupProbe?.periodSeconds, startupProbe?.failureThreshold]).toEqual([1, 3_600]);
    },
  },
  {
    rule: 'the readiness probe fails while the guard is not ready',
    checkGuard: async ({ container }) => expect(await probeUnready(container.readinessProbe)).toBe(503),
  },
  {
    rule: 'a guard that does not answer becomes unready long before the kubelet restarts it',
    checkGuard: ({ container: { livenessProbe, readinessProbe } }) =>
      expect(secondsUntilFailure(livenessProbe)).toBeGreaterThan(10 * secondsUntilFailure(readinessProbe)),
  },
  {
    rule: 'a guard that takes as long for a probe as the API server waits for an answer is not restarted',
    checkGuard: ({ container, webhook }) =>
      expect(container.livenessProbe?.timeoutSeconds).toBeGreaterThanOrEqual(required(webhook.timeoutSeconds)),
  },
  {
    rule: 'the container has the ports of its flags',
    checkGuard: ({ container, flags }) =>
      expect(container.ports).toEqual(
        PORT_NAMES.map((name, index) => {
          return { name, containerPort: Number(flags.get(PORT_FLAGS[index] ?? '')), protocol: 'TCP' };
        }),
      ),
  },
  {
    rule: 'the Service has the ports of the webhook and of the metrics',
    checkGuard: (guard) =>
      expect(guard.get('Service').spec?.ports).toMatchObject([
        { name: 'webhook', port: 443, protocol: 'TCP', targetPort: 'webhook' },
        { name: 'metrics', port: 8443, protocol: 'TCP', targetPort: 'metrics' },
      ]),
  },
  {
    rule: 'the NetworkPolicy has no other ports, and limits the clients of each',
    checkGuard: (guard) => {
      const { ingress, policyTypes } = required(guard.get('NetworkPolicy').spec);
      const [webhook, metrics, ...others] = required(ingress);
      expect({ policyTypes, others }).toEqual({ policyTypes: ['Ingress'], others: [] });
      expect(webhook?.ports).toMatchObject([{ port: 'webhook' }]);
      expect(metrics).toMatchObject({ ports: [{ port: 'metrics' }], from: MONITORING });
      if (!guard.name.includes('open-network')) expect(webhook).toMatchObject({ from: [API_SERVERS] });
    },
  },
  {
    rule: 'every selector selects the pods of the guard',
    checkGuard: (guard) => {
      const { selector, template } = required(guard.get('Deployment').spec);
      const labels = [
        selector.matchLabels,
        guard.get('Service').spec?.selector,
        guard.get('PodDisruptionBudget').spec?.selector?.matchLabels,
        guard.get('NetworkPolicy').spec?.podSelector?.matchLabels,
        ...getSpreadTerms(guard.pod).map((term) => term.labelSelector?.matchLabels),
      ];
      for (const selected of labels) expect(template.metadata?.labels).toMatchObject(required(selected));
    },
  },
  {
    rule: 'the image runs `serve` on its default ports',
    check: (installed) => {
      const [ports = ''] = installed.listArguments('EXPOSE');
      expect(ports.split(' ').map(Number)).toEqual(PORT_FLAGS.map(getServeDefault));
      expect(installed.listArguments('CMD')).toEqual(['["serve"]']);
    },
  },
  {
    rule: 'the program accepts the arguments of the container',
    checkGuard: ({ container }) => {
      const [command, ...flags] = required(container.args);
      const serve = createServeCommand()
        .exitOverride()
        .configureOutput({ writeErr: () => {} });
      expect({ command, ...serve.parseOptions(flags) }).toEqual({ command: 'serve', operands: [], unknown: [] });
    },
  },
  {
    rule: 'the user of the image is not root',
    check: (installed) => expect(installed.listArguments('USER')).toEqual([expect.stringMatching(/^[1-9]\d*$/)]),
  },
  {
    rule: 'the pods need no more than the security level "restricted", except for the network of the host',
    checkGuard: (guard) => {
      const { securityContext, hostNetwork = false } = guard.pod;
      expect(securityContext).toEqual({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
      expect(guard.container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      const level = hostNetwork ? 'privileged' : 'restricted';
      const levels = Object.entries(guard.get('Namespace').metadata.labels ?? {});
      const ofPods = levels.filter(([label]) => label.startsWith('pod-security.kubernetes.io/'));
      expect(ofPods).toEqual(['enforce', 'audit', 'warn'].map((mode) => [`pod-security.kubernetes.io/${mode}`, level]));
    },
  },
  {
    rule: 'the guard may use the security context constraint that its pods require',
    checkGuard: (guard) => {
      const { metadata } = required(guard.get('Deployment').spec).template;
      const constraint = metadata?.annotations?.['openshift.io/required-scc'];
      const roles = guard.list('RoleBinding').map(({ roleRef }) => roleRef.name);
      const granted = roles.filter((role) => role.startsWith('system:openshift:scc:'));
      // Every service account may use restricted-v2.
      const expected = guard.pod.hostNetwork === true ? ['system:openshift:scc:hostnetwork-v2'] : [];
      expect({ constraint, granted }).toEqual({
        constraint: guard.pod.hostNetwork === true ? 'hostnetwork-v2' : 'restricted-v2',
        granted: expected,
      });
    },
  },
  {
    // OpenShift documents 9000 to 9999 for services on the host network. kube-controller-manager uses 9443.
    rule: "pods on the network of the host use free ports of OpenShift's range and the DNS of the cluster",
    checkGuard: ({ pod, container }) => {
      if (pod.hostNetwork !== true) return;
      expect(pod.dnsPolicy).toBe('ClusterFirstWithHostNet');
      for (const { containerPort } of required(container.ports)) {
        expect(String(containerPort)).toMatch(/^9\d{3}$/);
        expect(containerPort).not.toBe(9443);
      }
    },
  },
  {
    // A flooded connection costs 200 kB (src/guard/guard.ts). Half of the rest is for bodies and lists.
    rule: 'the memory beside the heap of the image is twice that of all connections, and half of the limit',
    check: (installed) => {
      const [heap] = findAll(installed.listArguments('ENV').join('\n'), /--max-old-space-size=(\d+)/g);
      for (const { container } of installed.guards) {
        const { limits, requests } = required(container.resources);
        const limit = parseQuantity(required(limits?.['memory']));
        const heapBytes = Number(heap) * 2 ** 20;
        expect(limit).toBeGreaterThanOrEqual(2 * heapBytes);
        expect(limit - heapBytes).toBeGreaterThan(2 * (MAX_CONNECTIONS + MAX_SCRAPE_CONNECTIONS) * 200_000);
        expect(parseQuantity(required(requests?.['memory']))).toBeLessThanOrEqual(limit);
      }
    },
  },
  {
    rule: 'nothing limits the processor time of the guard, because a bulk delete needs it',
    checkGuard: ({ container: { resources } }) => {
      expect(Object.keys(resources?.limits ?? {})).toEqual(['memory']);
      expect(resources?.requests?.['cpu']).toBe('100m');
    },
  },
  {
    rule: 'two replicas run on different nodes, so that the loss of one node leaves one',
    checkGuard: (guard) => {
      const { replicas } = required(guard.get('Deployment').spec);
      const isSingle = guard.name.includes('single-node');
      const keys = getSpreadTerms(guard.pod).map(({ topologyKey }) => topologyKey);
      expect({ replicas, keys }).toEqual(
        isSingle ? { replicas: 1, keys: [] } : { replicas: 2, keys: ['kubernetes.io/hostname'] },
      );
    },
  },
  {
    // A pod that must not share a node or a port with the old one can only start after it.
    rule: 'a rollout replaces a pod first where the new one cannot run beside it, and otherwise keeps it until then',
    checkGuard: (guard) => {
      const { strategy } = required(guard.get('Deployment').spec);
      const { maxSurge, maxUnavailable } = required(strategy?.rollingUpdate);
      const isSingle = guard.name.includes('single-node');
      const surges = guard.pod.hostNetwork === true ? 0 : 1;
      expect({ type: strategy?.type, maxSurge, maxUnavailable }).toEqual({
        type: 'RollingUpdate',
        maxSurge: surges,
        maxUnavailable: isSingle && surges === 1 ? 0 : 1,
      });
    },
  },
  {
    rule: 'a drain can evict one pod at a time, and always one that is not ready',
    checkGuard: (guard) =>
      expect(guard.get('PodDisruptionBudget').spec).toMatchObject({
        maxUnavailable: 1,
        unhealthyPodEvictionPolicy: 'AlwaysAllow',
      }),
  },
  {
    rule: 'the pods run on the nodes of the API servers, also while these are tainted, and before other workloads',
    checkGuard: ({ pod: { nodeSelector, tolerations, priorityClassName } }) => {
      expect(nodeSelector).toEqual({ 'node-role.kubernetes.io/control-plane': '' });
      expect(priorityClassName).toBe('system-cluster-critical');
      for (const role of ['master', 'control-plane'])
        expect(tolerations).toContainEqual({
          key: `node-role.kubernetes.io/${role}`,
          operator: 'Exists',
          effect: 'NoSchedule',
        });
    },
  },
  {
    // Without a toleration, Kubernetes adds one of 300 s (DefaultTolerationSeconds).
    rule: 'a pod leaves an unreachable node earlier than other pods, and not at each short outage',
    checkGuard: ({ pod: { tolerations = [] } }) => {
      for (const key of ['node.kubernetes.io/unreachable', 'node.kubernetes.io/not-ready']) {
        const toleration = tolerations.find((each) => each.key === key);
        expect(toleration).toMatchObject({ operator: 'Exists', effect: 'NoExecute' });
        expect(toleration?.tolerationSeconds).toBeGreaterThanOrEqual(60);
        expect(toleration?.tolerationSeconds).toBeLessThan(300);
      }
    },
  },
  {
    rule: 'no default of the cluster keeps the pods off the control plane, or off its reserved processors',
    checkGuard: (guard) => {
      const { annotations } = guard.get('Namespace').metadata;
      expect(annotations).toMatchObject({ 'openshift.io/node-selector': '' });
      const { metadata } = required(guard.get('Deployment').spec).template;
      // Workload partitioning wants both annotations (openshift/enhancements, workload-partitioning).
      const workload = required(annotations?.['workload.openshift.io/allowed']);
      const effect = required(metadata?.annotations?.[`target.workload.openshift.io/${workload}`]);
      expect(JSON.parse(effect)).toEqual({ effect: 'PreferredDuringScheduling' });
    },
  },
  {
    // A list of the API server arrives in parts of at most 16 KiB. By default, glibc returns only 128 KiB and more.
    rule: 'the image returns the large buffers of a flood to the system, and keeps those of the parts of a list',
    check: (installed) => {
      const environment = installed.listArguments('ENV').map((each) => each.split('=') as [string, string]);
      const threshold = Number(new Map(environment).get('MALLOC_MMAP_THRESHOLD_'));
      expect(threshold).toBeGreaterThan(16 * 1024);
      expect(threshold).toBeLessThan(128 * 1024);
    },
  },
  {
    rule: 'the image runs the program that it contains, for production',
    check: (installed) => {
      const [program = ''] = installed.listArguments('ENTRYPOINT').map((each) => (JSON.parse(each) as [string])[0]);
      expect(installed.listArguments('COPY').join('\n')).toContain(`/build/dist/machineconfig-guard.cjs ${program}`);
      // Otherwise express would answer with the stack of an error.
      expect(installed.listArguments('ENV')).toContain('NODE_ENV=production');
      // The guard collects the buffers of a list (src/kube/lists/list.ts).
      expect(installed.listArguments('ENV').join('\n')).toMatch(/^NODE_OPTIONS=".* --expose-gc"$/m);
    },
  },
  {
    rule: 'the Secret of the flag --tls-secret is in the set, and only then',
    checkGuard: (guard) => {
      const [namespace, name] = AUTHORITY_SECRET_PATH.split('/').filter((part) => part.startsWith('machine'));
      const secrets = guard.list('Secret').filter(({ type }) => type !== SERVICE_ACCOUNT_TOKEN);
      const names = secrets.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
      const flag = guard.flags.get('tls-secret');
      expect(names).toEqual(flag === undefined ? [] : [`${namespace}/${name}`]);
      expect(flag).toBe(names[0]);
    },
  },
  {
    rule: 'the flags name the files of the Secret that the issuer writes',
    checkGuard: (guard) => {
      const { volumes = [], containers } = guard.pod;
      const { metadata } = guard.get('Service');
      const issued = metadata.annotations?.['service.beta.openshift.io/serving-cert-secret-name'];
      const certificates = guard.list('Certificate');
      const secrets = [issued, ...certificates.filter(({ spec }) => !spec.isCA).map(({ spec }) => spec.secretName)];
      expect(volumes.map(({ secret }) => secret?.secretName)).toEqual(secrets.filter(Boolean));
      const mounts = containers[0]?.volumeMounts ?? [];
      expect(mounts.map((mount) => mount.name)).toEqual(volumes.map(({ name }) => name));
      const [{ mountPath } = { mountPath: undefined }] = mounts;
      const file = (name: string) => mountPath && `${mountPath}/${name}`;
      expect(guard.flags.get('tls-cert-file')).toBe(file('tls.crt'));
      expect(guard.flags.get('tls-private-key-file')).toBe(file('tls.key'));
    },
  },
];

function getServeDefault(flag: string): unknown {
  return createServeCommand().options.find(({ long }) => long === `--${flag}`)?.defaultValue;
}

/** The status of a probe of a guard that is not ready. */
async function probeUnready(probe: V1Probe | undefined): Promise<number> {
  const { path = '', port, scheme } = required(probe?.httpGet);
  expect({ port, scheme }).toEqual({ port: 'health', scheme: 'HTTP' });
  return await getStatus(path);
}

const getStatus = sendOnce(
  async (path) => (await request(createHealthServer(() => 'nodes not listed yet')).get(path)).status,
);

function secondsUntilFailure(probe: V1Probe | undefined): number {
  return required(probe?.periodSeconds) * required(probe?.failureThreshold);
}

function getSpreadTerms({ affinity }: { readonly affinity?: V1PodSpec['affinity'] }) {
  return affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
}

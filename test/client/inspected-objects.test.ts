import { expect, test } from 'vitest';
import { parseInspectedNode } from '../../src/client/inspected-objects.ts';

test.each([
  ['its kubelet is not ready', 'False', 'container runtime is down', true],
  ['the controller of nodes has given it up, as a False one', 'False', 'Kubelet stopped posting node status.', false],
  ['there is no message', 'False', '', false],
  ['the controller of nodes has given it up', 'Unknown', 'Kubelet stopped posting node status.', false],
])('knows whether the kubelet itself says that its node is not ready, if %s', (_what, status, message, isReported) => {
  const conditions = [{ type: 'Ready', status, message }];
  const { readiness } = parseInspectedNode({ metadata: { name: 'n' }, status: { conditions } });
  expect(readiness?.isReported).toBe(isReported);
});

// As in CheckNodeReady of the operator (pkg/controller/common/layered_node_state.go).
test.each([
  ['DiskPressure', 'True', true],
  ['NetworkUnavailable', 'True', true],
  ['DiskPressure', 'False', false],
  ['MemoryPressure', 'True', false],
])('knows whether the operator counts a node as unavailable because %s is %s', (type, status, isCounted) => {
  const conditions = [
    { type: 'Ready', status: 'True' },
    { type, status },
  ];
  const { pressure } = parseInspectedNode({ metadata: { name: 'n' }, status: { conditions } });
  expect(pressure !== undefined).toBe(isCounted);
});

test.each([
  ['machine-config-controller', '2026-11-20T12:00:00.000Z'],
  ['machine-config-daemon', '2026-11-20T12:00:00.000Z'],
  ['kubectl-annotate', undefined],
])('a write of an annotation by %s moves a node at %s', (manager, movedAt) => {
  const fieldsV1 = { 'f:metadata': { 'f:annotations': { 'f:machineconfiguration.openshift.io/state': {} } } };
  const managedFields = [
    { manager, operation: 'Update', time: '2026-11-20T12:00:00Z', fieldsType: 'FieldsV1', fieldsV1 },
  ];
  const node = parseInspectedNode({ metadata: { name: 'n', managedFields } });
  expect(node.movedAt?.toISOString()).toBe(movedAt);
});

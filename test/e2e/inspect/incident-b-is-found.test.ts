import { afterAll, beforeAll, expect, test } from 'vitest';

import type { CheckReport } from '../../../src/inspect/check-report.ts';
import { ControlPlane } from '../control-plane/control-plane.ts';
import { runBinaries } from '../support/run-binaries.ts';
import { kubectl } from '../support/kubectl.ts';
import { CLUSTER_READER, Inspector } from './inspector.ts';
import { incidentB, INCIDENT_B } from './incidents.ts';

let controlPlane: ControlPlane;
let inspector: Inspector;
let request: string;

beforeAll(async () => {
  controlPlane = await ControlPlane.start(await runBinaries());
  request = await incidentB(controlPlane.apiServer.admin);
  inspector = await Inspector.withRights(controlPlane, CLUSTER_READER);
});

afterAll(() => controlPlane.stop());

test('what is wrong: which nodes, which config, the empty status, and the request that waits', async () => {
  const { exitCode, stdout, stderr } = await inspector.run('check', '--output', 'json');
  expect([exitCode, stderr]).toEqual([1, '']);
  const { ok, canHeal, nodes, problems, pendingCertificateRequests } = JSON.parse(stdout) as CheckReport;
  expect([ok, canHeal]).toEqual([false, false]);
  const missing = { code: 'ConfigMissing', kind: 'Node', config: INCIDENT_B.missing, canHeal: false, suggestion: null };
  expect(problems).toMatchObject([
    ...INCIDENT_B.masters.flatMap((name) => [
      { ...missing, name, field: 'currentConfig' },
      { ...missing, name, field: 'desiredConfig' },
    ]),
    { code: 'StatusEmpty', kind: 'MachineConfigPool', name: 'master', field: 'status', canHeal: false },
  ]);
  expect(problems).toHaveLength(5);
  expect(nodes.filter(({ state }) => state === 'Degraded').map(({ name }) => name)).toEqual(INCIDENT_B.masters);
  expect(pendingCertificateRequests).toMatchObject({
    readable: true,
    requests: [{ name: request, node: INCIDENT_B.waiting, signer: 'kubernetes.io/kube-apiserver-client-kubelet' }],
  });
});

test('waiting is no use, and that is said at once', async () => {
  const { exitCode, stdout } = await inspector.run('check', '--role', 'master', '--wait', '--timeout', '30m');
  expect(exitCode).toBe(1);
  expect(stdout).toContain('Not fine: 2 of 2 nodes and 1 of 1 pool. Waiting does not heal this.');
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
    `${INCIDENT_B.missing} does not exist; nodes control1.gw.lo and control2.gw.lo name it.`,
  );
});

test('the workers are not concerned', async () => {
  const { exitCode, stdout } = await inspector.run('check', '--role', 'worker');
  expect(exitCode).toBe(0);
  expect(stdout).toContain('Fine: every config that 3 nodes and 1 pool name exists.');
});

test('the repair that it prints, run by a person, repairs', async () => {
  const { stdout } = await inspector.run('check');
  // As a person copies them: lines with backslashes and all. `oc adm certificate` is `kubectl certificate` without oc.
  const commands = [...stdout.matchAll(/^ {2}oc (?<command>(?:.*\\\n)*.*)$/gm)].map(
    (match) => match.groups?.['command'] ?? '',
  );
  expect(commands).toHaveLength(3);
  for (const command of commands) {
    const words = wordsOf(command.replace(/^adm /, ''));
    expect(await kubectl(controlPlane, words)).toMatchObject({ exitCode: 0 });
  }
  const repaired = await inspector.run('check', '--output', 'json');
  expect(repaired.exitCode).toBe(0);
  const { pools, pendingCertificateRequests, repairs } = JSON.parse(repaired.stdout) as CheckReport;
  expect(pools).toMatchObject([{ name: 'master', statusConfig: INCIDENT_B.master }, { name: 'worker' }]);
  expect(pendingCertificateRequests.requests).toEqual([]);
  expect(repairs).toEqual([]);
});

/** What a shell makes of a command in which only quotes and line ends are special. */
function wordsOf(command: string): string[] {
  return [...command.replaceAll('\\\n', ' ').matchAll(/'(?<quoted>[^']*)'|(?<plain>\S+)/g)].map(
    ({ groups }) => groups?.['quoted'] ?? groups?.['plain'] ?? '',
  );
}

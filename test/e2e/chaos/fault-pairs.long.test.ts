import { afterAll, expect, test } from 'vitest';
import { ControlPlane } from '../control-plane/control-plane.ts';
import { Cluster } from '../support/cluster.ts';
import { GuardProcesses } from '../support/guard-processes.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { Prober } from '../support/prober.ts';
import { runBinaries } from '../support/runner.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';

/** Deletions during a pair of faults, at each API server. */
const PROBES = 12;
/** How late the second API server learns of writes. Each decision from its cache is wrong then. */
const LAG_MS = 100;

interface Fault {
  /** A process or a connection. It has one fault at a time. */
  readonly subject: string;
  readonly name: string;
  readonly start: () => Promise<unknown>;
  readonly stop: () => Promise<unknown>;
}

const controlPlane = await ControlPlane.start(await runBinaries());
const etcd = await startTcpProxy(Number(new URL(controlPlane.etcd.url).port), { delayMs: LAG_MS });
const apiServers = [controlPlane.apiServer, await controlPlane.startApiServer(`http://127.0.0.1:${etcd.port}`)];
const networks = await Promise.all(apiServers.map(({ url }) => startTcpProxy(Number(new URL(url).port))));
const addresses = networks.map(({ port }) => `https://127.0.0.1:${port}`);
const installed = new InstalledCluster(controlPlane, new GuardProcesses(controlPlane, addresses));
await installed.applyOverlay('service-ca');
await installed.awaitGuard();

afterAll(() => installed.stop());

/** A fault must not need the subject of a later one in order to stop. */
const FAULTS: readonly Fault[] = [
  ...installed.replicas.running.flatMap((guard, index): Fault[] => [
    { subject: `guard ${index}`, name: 'is killed', start: () => guard.stop('SIGKILL'), stop: () => guard.restart() },
    {
      subject: `guard ${index}`,
      name: 'hangs',
      start: async () => process.kill(guard.pid, 'SIGSTOP'),
      stop: async () => process.kill(guard.pid, 'SIGCONT'),
    },
  ]),
  ...apiServers.map((apiServer, index) => ({
    subject: `API server ${index}`,
    name: 'is killed',
    start: () => apiServer.kill(),
    stop: () => apiServer.start(),
  })),
  ...[...networks, etcd].flatMap((network, index) => {
    const subject = network === etcd ? 'the connection of API server 1 to etcd' : `the connection of guard ${index}`;
    return [
      { subject, name: 'is refused', start: () => network.refuse(), stop: () => network.resume() },
      { subject, name: 'is silent', start: async () => network.silence(), stop: () => network.resume() },
    ];
  }),
];

const PAIRS = FAULTS.flatMap((first, index) =>
  FAULTS.slice(index + 1)
    .filter(({ subject }) => subject !== first.subject)
    .map((second) => [first, second] as const),
);

// Each guard has an API server of its own. Clients use both.
test('no answer is wrong during any two faults, and every answer is right after them', async () => {
  const probers = await Promise.all(apiServers.map((apiServer) => Prober.start(new Cluster(apiServer))));
  const forEachProber = (work: (prober: Prober) => Promise<unknown>) => Promise.all(probers.map(work));
  try {
    for (const [first, second] of PAIRS) {
      await first.start();
      await second.start();
      await forEachProber((prober) => prober.awaitMore(PROBES));
      await second.stop();
      await first.stop();
      await forEachProber((prober) => prober.awaitRightAnswers());
      const wrongAnswers = probers.flatMap((prober) => prober.wrongAnswers);
      expect(wrongAnswers, [first, second].map(({ subject, name }) => `${subject} ${name}`).join(', ')).toEqual([]);
    }
  } finally {
    await forEachProber((prober) => prober.stop());
  }
  const deletions = probers.reduce((sum, { probes }) => sum + probes.length, 0);
  console.log(`${deletions} deletions during ${PAIRS.length} pairs of faults`);
}, 7_200_000);

import { X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import { ALLOW_DELETION_ANNOTATION } from '../../src/api/annotations.ts';
import { groupBy } from '../../src/common/group-by.ts';
import { operatorAnnotations } from '../support/operator-objects.ts';
import { expectAnnounced, expectRecorded, expectRecovered } from './oracles.ts';
import { OTHER, startWorld, UNUSED, USED } from './world.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MISSING = `rendered-worker-${'9'.repeat(32)}`;

test('each answer is in the log, the metrics, the Events and the status', async () => {
  const { world, clock, replica } = await startWorld();
  await replica.review(USED, { user: 'alice' });
  // The status has just got the first denial.
  await clock.pass(2_000);
  await replica.review(USED, { user: 'bob' });
  await replica.review(USED, { user: 'carol', dryRun: true });
  await replica.review(UNUSED, { user: 'alice' });
  world.cluster.patch('machineconfigs', USED, { metadata: { annotations: { [ALLOW_DELETION_ANNOTATION]: 'CHG-7' } } });
  expect(await replica.review(USED, { user: 'dave' })).toMatchObject({ allowed: true, code: 'MCG_OVERRIDDEN' });
  await expectRecorded(replica);
  await expectAnnounced(world, replica);
  const series = await replica.scrape();
  for (const [path, count] of Object.entries({ index: 3, live: 1, none: 1 })) {
    expect(series.get(`mcguard_decision_duration_seconds_count{path="${path}"}`)).toBe(count);
    expect(series.get(`mcguard_decision_duration_seconds_sum{path="${path}"}`)).toBeLessThan(0.1);
  }
  expect(series.get('mcguard_webhook_calls_total{authorization="true"}')).toBe(5);
  expect(series.get('mcguard_live_reads_total')).toBe(1);
  expect(series.get('mcguard_references{kind="Node"}')).toBe(6);
  expect(series.get('process_start_time_seconds')).toBeCloseTo(Date.now() / 1_000 - process.uptime(), -2);
  expect(world.listEvents('DeletionDenied')).toHaveLength(2);
  expect(world.listEvents('DeletionOverridden')).toMatchObject([{ note: expect.stringMatching(/^dave: .*CHG-7$/) }]);
  await clock.within(13_000, 'the deletions are in the status', () => {
    const { deletions } = world.guard?.status ?? {};
    return deletions?.[UNUSED]?.user === 'alice' && deletions[USED]?.user === 'dave';
  });
});

test('a flood of forged reviews causes no list, Event or status, and few lines', async () => {
  const { world, clock, replica } = await startWorld();
  const [requests, lines] = [world.faults.requests.length, replica.lines.length];
  for (let count = 0; count < 50; count += 1) {
    const answer = await replica.review(`rendered-worker-${String(count).padStart(32, '0')}`);
    expect(answer.code).toBe('MCG_UNVERIFIED');
  }
  await replica.review(USED, { uid: 'another' });
  await clock.pass(12_000);
  const lists = world.faults.requests.slice(requests).filter(({ path }) => path.endsWith('/nodes'));
  expect(lists.filter(({ query }) => !query.has('limit'))).toEqual([]);
  expect(world.cluster.list('events')).toEqual([]);
  expect(world.guard?.status?.lastDenial).toBeUndefined();
  expect(replica.lines.length - lines).toBeLessThanOrEqual(2);
  await expectRecorded(replica);
});

test('a dangling reference is reported everywhere within 5 s, and no longer after its repair', async () => {
  const { world, clock, replica } = await startWorld();
  world.setNode('worker-1', MISSING);
  await clock.within(5_000, 'the status has it', () => world.guard?.status?.danglingCount === 2);
  expect(world.guard?.status?.danglingReferences).toMatchObject([
    { name: 'worker-1', config: MISSING },
    { config: MISSING },
  ]);
  expect(world.findCondition('ReferencesConsistent')).toMatch(/^False DanglingReferences: 2 dangling references: /);
  expect(world.listEvents('DanglingReference')).toMatchObject([
    { regarding: { kind: 'Node', name: 'worker-1', uid: 'worker-1' } },
  ]);
  expect((await replica.scrape()).get('mcguard_dangling_references')).toBe(2);
  const text = 'dangling reference: Node worker-1 (currentConfig) names';
  expect(replica.messages().filter((message) => message.startsWith(text))).toHaveLength(1);
  const annotations = operatorAnnotations({ desiredConfig: MISSING.replace('worker', 'infra') });
  world.cluster.patch('nodes', 'worker-1', { metadata: { annotations } });
  const hasTwoEvents = () => world.listEvents('DanglingReference').length === 2;
  await clock.within(5_000, 'an Event for the other config', hasTwoEvents);
  world.setNode('worker-1', USED);
  await expectRecovered(world);
});

test('the status keeps since when a reference dangles, and when its config was deleted', async () => {
  const { world, clock } = await startWorld();
  world.apiClockOffsetMs = -DAY_MS;
  await clock.pass(2_000);
  world.cluster.create('machineconfigs', { metadata: { name: MISSING } });
  await clock.pass(2_000);
  world.cluster.erase('machineconfigs', MISSING);
  await clock.pass(60_000);
  world.setNode('worker-1', MISSING);
  await clock.within(5_000, 'the status has it', () => world.guard?.status?.danglingCount === 2);
  const { danglingReferences = [] } = world.guard?.status ?? {};
  // The guard's own clock is wrong.
  expect(Date.parse(danglingReferences[0]?.since ?? '')).toBeCloseTo(world.apiNow.getTime(), -4);
  const ages = danglingReferences.map(
    ({ since, deletedAt = '' }) => (Date.parse(since) - Date.parse(deletedAt)) / 1_000,
  );
  expect(ages).toEqual([expect.closeTo(61, -1), expect.closeTo(61, -1)]);
  await clock.pass(20_000);
  expect(world.guard?.status?.danglingReferences).toEqual(danglingReferences);
});

test('a pool that stays paused for a restore is reported', async () => {
  const { world, clock, replica } = await startWorld();
  const annotations = { 'machineconfig-guard.io/paused-for-restore': USED };
  world.cluster.patch('machineconfigpools', 'worker', { metadata: { annotations }, spec: { paused: true } });
  await clock.within(3_500, 'the status has it', () =>
    world.findCondition('RestoresComplete').startsWith('False PoolPausedForRestore: pool worker is paused'),
  );
  expect((await replica.scrape()).get('mcguard_stalled_restores')).toBe(1);
});

test('a pool that was just paused for a restore is not reported if the clock of the guard is wrong', async () => {
  const { world, clock, replica } = await startWorld();
  world.apiClockOffsetMs = -DAY_MS;
  const annotation = 'machineconfig-guard.io/paused-for-restore';
  const fieldsV1 = { 'f:metadata': { 'f:annotations': { [`f:${annotation}`]: {} } } };
  const managedFields = [{ manager: 'restore', time: world.apiNow.toISOString(), fieldsV1 }];
  world.cluster.patch('machineconfigpools', 'worker', {
    metadata: { annotations: { [annotation]: USED }, managedFields },
    spec: { paused: true },
  });
  await clock.pass(3_500);
  expect(world.findCondition('RestoresComplete')).toMatch(/^True NoneStalled: /);
  expect((await replica.scrape()).get('mcguard_stalled_restores')).toBe(0);
});

test('a config that its pool left is held by the clock of the API server, and then not', async () => {
  const { world, clock, replica } = await startWorld();
  world.setGuardSpec({ holdSuperseded: null });
  // The guard's own clock is wrong.
  world.apiClockOffsetMs = -DAY_MS;
  world.setPoolStatus(OTHER);
  await clock.pass(2_000);
  world.setPoolStatus(USED);
  // A later change of the pool extends no hold, because the guard has seen that the pool did not name the config.
  await clock.pass(60_000);
  world.setPoolStatus(USED);
  await clock.pass(2_000);
  const answer = await replica.review(OTHER);
  expect(answer.code).toBe('MCG_HELD');
  expect(answer.message).toContain(
    'is held until 2026-11-19T14:00:05Z: pool worker last named it at 2026-11-19T12:00:04Z',
  );
  await clock.within(
    3_500,
    'the status has it and the others that the guard has not watched for so long',
    () => world.guard?.status?.heldCount === 3,
  );
  // The longest hold is the first one.
  const until: unknown = expect.stringMatching(/^2026-11-19T14:00:0[56]Z$/);
  const held = { name: OTHER, pool: 'worker', until };
  expect(world.guard?.status).toMatchObject({ holdSuperseded: '2h', heldConfigs: [held, {}, {}] });
  await expectAnnounced(world, replica);
  expect(world.guard?.status?.lastDenial?.time).toMatch(/^2026-11-19T12:0[01]/);
  world.apiClockOffsetMs += 2 * HOUR_MS;
  await clock.pass(2_000);
  expect((await replica.review(OTHER)).allowed).toBe(true);
});

test.each([-DAY_MS, 0, 5_400])(
  'if the API server is %d ms ahead, the ends of holds stay the same',
  async (offsetMs) => {
    const { world, clock } = await startWorld();
    world.setGuardSpec({ holdSuperseded: null });
    world.apiClockOffsetMs = offsetMs;
    world.setPoolStatus(OTHER);
    await clock.pass(2_000);
    world.setPoolStatus(USED);
    await clock.within(5_000, 'the status has them', () => world.guard?.status?.heldCount === 3);
    // It learns where the seconds of the API server begin.
    await clock.pass(30_000);
    const { heldConfigs } = world.guard?.status ?? {};
    const countWrites = () => world.writes.filter(({ path }) => path.endsWith('/status')).length;
    const before = countWrites();
    await clock.pass(270_000);
    expect(world.guard?.status?.heldConfigs).toEqual(heldConfigs);
    expect(countWrites() - before).toBeLessThanOrEqual(1);
  },
);

test('tasks that fail are counted, and logged once', async () => {
  const { world, clock, replica } = await startWorld();
  const recover = world.answer(/\/leases\/|\/status$/, { status: 500 });
  world.setNode('worker-1', OTHER);
  await clock.pass(30_000);
  const series = await replica.scrape();
  expect(series.get('mcguard_task_failures_total{task="acquire the Lease"}')).toBe(1);
  expect(series.get('mcguard_task_failures_total{task="write the status"}')).toBeGreaterThan(3);
  const problems = replica.messages().filter((message) => /^cannot (?:write the status|acquire)/.test(message));
  expect(problems).toHaveLength(2);
  recover();
  world.setNode('worker-1', USED);
  await expectRecovered(world);
});

test('each problem of an outage is logged once, and again in the next outage', async () => {
  const { world, clock, replica } = await startWorld({ followsSecret: true });
  for (const config of [OTHER, USED]) {
    const recover = world.answer(/(?:apiservers|leases|machineconfigguards|secrets)\/|nodes$/, { status: 500 });
    world.network.reset(replica.name);
    world.setNode('worker-1', config);
    world.setPoolStatus(config);
    // The Lease is renewed every 26 s.
    await clock.pass(30_000);
    recover();
    await clock.pass(30_000);
  }
  const isLogged = (message: string) => /^cannot .* answered 500|(?:nodes|readable|used) again$/.test(message);
  const problems = replica.messages().filter(isLogged);
  const counts = [...groupBy(problems, (text) => text)].map(([text, { length }]) => `${length} ${text.split(':')[0]}`);
  expect(counts.toSorted()).toEqual([
    '2 cannot acquire the status lease',
    '2 cannot read apiservers.config.openshift.io',
    // Before and after 15 s.
    '2 cannot read machineconfigguard cluster',
    '2 cannot read machineconfigguard cluster',
    '2 cannot read secret machineconfig-guard/machineconfig-guard-ca',
    '2 cannot watch nodes',
    '2 cannot write the status',
    '2 machineconfigguard cluster is readable again',
    '2 secret machineconfig-guard/machineconfig-guard-ca can be used again',
    '2 watching nodes again',
  ]);
});

test('the servers follow the TLS profile of the cluster within 10 s', async () => {
  const { world, clock, replica } = await startWorld();
  const old = { maxVersion: 'TLSv1.2' } as const;
  await replica.shakeHands('securePort', old);
  const profile = (tlsSecurityProfile: object | null) =>
    world.cluster.patch('apiservers', 'cluster', { spec: { tlsSecurityProfile } });
  profile({ type: 'Modern', modern: {} });
  await clock.pass(10_500);
  for (const port of ['securePort', 'metricsPort'] as const)
    await expect(replica.shakeHands(port, old)).rejects.toThrow('alert protocol version');
  expect(world.findCondition('TLSProfileApplied')).toMatch(/^True Modern: TLS 1\.3/);
  const recover = world.answer(/apiservers\/cluster$/, { status: 403 });
  await clock.pass(12_500);
  expect(world.findCondition('TLSProfileApplied')).toMatch(/^Unknown Forbidden: .*; Modern applies: /);
  recover();
  profile(null);
  await expectRecovered(world);
});

test('a serving certificate is renewed after two thirds of its life, and with a new authority', async () => {
  const { world, clock, replica } = await startWorld({ followsSecret: true });
  const readExpiry = async () =>
    (await replica.scrape()).get('mcguard_certificate_expiry_timestamp_seconds{certificate="serving"}');
  const first = await replica.shakeHands('securePort');
  expect(await readExpiry()).toBe(Date.parse(first.validTo) / 1_000);
  const service = 'DNS:machineconfig-guard.machineconfig-guard.svc';
  expect(first.subjectAltName).toBe(`${service}, ${service}.cluster.local`);
  clock.skip(4 * DAY_MS);
  await clock.pass(2_000);
  expect((await replica.shakeHands('securePort')).fingerprint256).toBe(first.fingerprint256);
  clock.skip(DAY_MS);
  await clock.pass(2_000);
  const second = await replica.shakeHands('securePort');
  expect(second.fingerprint256).not.toBe(first.fingerprint256);
  expect((await replica.shakeHands('metricsPort')).fingerprint256).toBe(second.fingerprint256);
  expect(await readExpiry()).toBe(Date.parse(second.validTo) / 1_000);
  expect(world.findCondition('CertificatesValid')).toMatch(/^True Valid: /);

  world.setAuthority(world.authorities[1]);
  await clock.pass(2_000);
  const { publicKey } = new X509Certificate(world.authorities[1]?.certificatePem ?? '');
  expect((await replica.shakeHands('securePort')).verify(publicKey)).toBe(true);
  // The next bookmarks show that the watches have survived the long time.
  await clock.pass(60_000);
  await expectRecovered(world);
});

test.each([
  ['has no handshake', 'securePort', false, 10],
  ['sends no headers', 'securePort', true, 11],
  ['sends no headers to the metrics', 'metricsPort', true, 11],
  ['sends no headers to a probe', 'healthPort', false, 6],
] as const)('a connection that %s closes after its time', async (_case, port, isTls, seconds) => {
  const { clock, replica } = await startWorld();
  const { socket } = isTls ? replica.connectTls(port) : { socket: replica.connectTo(port) };
  if (isTls) await clock.settle();
  socket.write(isTls ? 'POST /validate HTTP/1.1\r\nHost: x\r\n' : 'G');
  let isClosed = false;
  socket.on('error', () => {}).once('close', () => (isClosed = true));
  socket.resume();
  await clock.pass(seconds * 1_000 - 100);
  expect(isClosed).toBe(false);
  await clock.pass(200);
  expect(isClosed).toBe(true);
});

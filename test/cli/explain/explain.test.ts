import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { PAGES, readAliases } from '../../../src/cli/explain/explain.ts';
import { findAll, listFiles, readFile } from '../../docs/pages.ts';
import { runProgram, usageError } from '../run-program.ts';
import { useTerminal } from '../terminal.ts';
import { CODE_DESCRIPTIONS } from '../../../src/api/codes.ts';
import { CAUSE_CODES } from '../../../src/diagnosis/cause-rules.ts';
import { RULES } from '../../../src/manifests/rules/rules.ts';

const CODES = Object.entries(CODE_DESCRIPTIONS);
const SEE_ALSO = '\nSee also: machineconfig-guard explain TOPIC\n';
const ALERTS = findAll(listFiles('docs/runbooks').join('\n'), /(\w+)\.md$/gm);

async function explain(...topics: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await runProgram(['explain', ...topics]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return stdout;
}

test('without a topic, lists every code, alert and page of the documentation', async () => {
  const lines = (await explain()).replaceAll(/\n +/g, ' ').trimEnd().split('\n');
  expect(lines).toEqual(expect.arrayContaining(CODES.map(([code, meaning]) => `- ${code}: ${meaning}`)));
  expect(lines).toContain('- MachineConfigGuardAbsent: Prometheus has scraped no guard pod for 10 minutes.');
  const pages = findAll(listFiles('docs').join('\n'), /^docs\/(\w+)(?:\/README)?\.md$/gm);
  expect(PAGES.toSorted()).toEqual(['README', ...pages].toSorted());
  const names = findAll(lines.join('\n'), /^- (\w+): \S/gm);
  expect(names.toSorted()).toEqual([...CODES.map(([code]) => code), ...ALERTS, ...PAGES].toSorted());
});

test('prints each topic for a terminal, and topics that exist below "See also"', async () => {
  const topics = [...CODES, ...[...ALERTS, ...PAGES].map((topic) => [topic, ''] as const)];
  const linked = new Set<string>();
  for (const [topic, sentence] of topics) {
    const text = await explain(topic);
    expect(text.replaceAll(/\s+/g, ' ')).toContain(sentence);
    const lines = text.split('\n');
    const isLink = (line: string) => /\]\((?:#|\S*runbooks\/|(?:\.\.\/)?(?:install|operate|codes)\.md)/.test(line);
    expect([topic, ...lines.filter(isLink)]).toEqual([topic]);
    const [, seeAlso = ''] = text.split(SEE_ALSO);
    for (const other of findAll(seeAlso, /^- (\S+):/gm)) linked.add(other);
    expect(seeAlso).not.toMatch(/^ {2,}(?:oc|machineconfig-guard) /m);
  }
  expect(linked.size).toBeGreaterThan(40);
  for (const topic of linked) expect(await explain(topic)).not.toBe('');
});

test('prints a section of a page, and no command of the sections that its links lead to', async () => {
  const [section = ''] = findAll(readFile('docs/operate.md'), /^### One config\n([^]*?)^###? /gm);
  const text = await explain('operate/one-config');
  expect(text.split('\n')[0]).toBe('### One config');
  const [command = ''] = findAll(section, /^(oc annotate .*)$/gm);
  expect(text).toContain(`\n${command}\n`);
  const unverified = await explain('MachineConfigGuardUnverified');
  expect(unverified).toMatch(/\n- operate\/one-config: One config\n/);
  expect(unverified).not.toContain(command);
  // The prompt is no part of a command.
  expect(await explain('MachineConfigGuardAbsent')).toContain('\nmachineconfig-guard verify\n');
  expect(await explain('MachineConfigGuardAbsent')).toBe(await explain('machineconfigguardabsent'));
});

test.each([
  ['MCG_INUSE', 'MCG_IN_USE'],
  ['mcg-held', 'MCG_HELD'],
  ['how do I uninstall', 'install/uninstall'],
  ['upgrade blocked', 'troubleshooting/is-the-guard-blocking-my-upgrade-drain-or-reboot'],
  ['Is the guard blocking my upgrade?', 'troubleshooting/is-the-guard-blocking-my-upgrade-drain-or-reboot'],
  ['diskdiffers', 'DiskDiffers'],
  ['MCG_HELD: a machine may be booting with it', 'MCG_HELD'],
  ['in use', 'MCG_IN_USE'],
  ['dangling reference', 'MachineConfigGuardDanglingReference'],
  ['price', 'install/in-a-running-cluster'],
  ['turn it off', 'operate/change-the-mode'],
  ['how do I turn it off in one cluster', 'operate/change-the-mode'],
  ['how do I know that it works', 'operate/see-the-state'],
  ['How do I switch the guard off?', 'operate/change-the-mode'],
  ['remove the guard', 'install/uninstall'],
  ['what does it see', 'install/without-access-to-machineconfigs'],
  ['oc adm upgrade', 'year'],
  ['EUS upgrade', 'year'],
  ['IPv6', 'install/who-can-call-the-guard'],
  ['OutOfSync', 'fleet/argo-cd-without-acm'],
  ['SchedulingDisabled', 'troubleshooting/a-node-or-a-machine-is-stuck'],
  ['MachineOSConfig', 'MCG_IN_USE'],
  ['99-worker', 'MCG_NOT_RENDERED'],
  ['PagerDuty', 'monitoring'],
])('prints for %s the topic %s', async (given, topic) => {
  expect(await explain(given)).toBe(await explain(topic));
});

test.each([
  ['upgrade', ['install/upgrade', 'troubleshooting/is-the-guard-blocking-my-upgrade-drain-or-reboot']],
  ['hold', ['operate/hold-what-may-be-booting', 'fleet/mode-and-hold']],
  ['disconnected', ['install/disconnected-clusters', 'operate/is-it-down-in-a-disconnected-site']],
  ['who deleted a config', ['audit/deleted-configs', 'operate/a-deletion-was-denied']],
  ['guard is down', ['operate/is-it-down-in-a-disconnected-site']],
  [
    'x509',
    [
      'troubleshooting/-x509-certificate-signed-by-unknown-authority',
      'troubleshooting/-x509-certificate-has-expired-or-is-not-yet-valid',
    ],
  ],
])('prints for %s the section that begins with it, and names the others', async (given, [first = '', ...others]) => {
  const [text = '', seeAlso = ''] = (await explain(given)).split(SEE_ALSO);
  const [ofFirst] = (await explain(first)).split(SEE_ALSO);
  expect(text.trimEnd()).toBe(ofFirst?.trimEnd());
  for (const other of others) expect(seeAlso).toContain(`- ${other}: `);
});

test('lists for runbooks all alerts, and leads from a refused connection to two of them', async () => {
  const [, runbooks = ''] = (await explain('runbooks')).split(SEE_ALSO);
  expect(findAll(runbooks, /^- (\w+): /gm).toSorted()).toEqual(ALERTS.toSorted());
  const refused = await explain('failed calling webhook "x": dial tcp 10.0.0.1:443: connect: connection refused');
  expect(refused).toMatch(/If it persists, run `machineconfig-guard verify`/);
  for (const alert of ['Absent', 'Unreachable']) expect(refused).toContain(`\n- MachineConfigGuard${alert}: `);
});

const REJECTIONS = findAll(readFile('src/cli/restore/restore-plan.ts'), /\bcode: '(\w+)'/g);
const [STATE_UNION = ''] = findAll(
  readFile('src/cli/protection/protection.ts'),
  /^export type ProtectionState = (.*);/gm,
);

test.each([
  ['check', CAUSE_CODES, 'inspect/why-does-it-not-move'],
  ['check manifests', Object.keys(RULES), 'inspect/before-the-install'],
  ['restore', REJECTIONS, 'inspect/restore'],
  ['verify', findAll(STATE_UNION, /'(\w+)'/g), 'operate/see-the-state'],
])('explains every code that %s prints, and names its section', async (_command, codes, section) => {
  expect(codes.length).toBeGreaterThan(3);
  for (const code of codes) {
    const [text = '', seeAlso = ''] = (await explain(code)).split(SEE_ALSO);
    expect(text).toMatch(new RegExp(`\\b${code}\\b.*\\S`, 's'));
    expect(seeAlso).toContain(`- ${section}: `);
  }
});

test('prints only the items that name a code', async () => {
  expect(await explain('EXPOSED')).toMatch(/^- `EXPOSED`: configs in use can be deleted\n\nSee also/);
  const [text = ''] = (await explain('Ready')).split(SEE_ALSO);
  expect(findAll(text, /^- `(\w+)` is False, `\w+`: /gm)).toEqual(['Ready', 'Ready']);
  expect(await explain('RenderFails')).toMatch(/^RenderFails: the operator ends with …; correct the manifest, /);
  // A sentence is complete without the link of the page.
  expect(await explain('ConfigTerminating')).toMatch(/ See below \(inspect\/in-use-and-being-deleted\)\.\n/);
});

const STUCK = 'machineconfig.machineconfiguration.openshift.io "rendered-master-553d5d52" not found';

/** Texts of the machine-config-daemon of OpenShift 4.14 to 5.0 (pkg/daemon), the last one with `oc`. */
test.each([
  STUCK,
  `missing MachineConfig rendered-master-553d5d52\n${STUCK}`,
  'machineconfig "rendered-master-553d5d52" not found',
  'bootstrap generated MC rendered-master-1 and in-cluster generated MC rendered-master-2 for this node do not match',
  'bootstrap generated MC rendered-master-1 does not match in-cluster MC generated by the controller',
  `Error from server (NotFound): ${STUCK.replace('machineconfig.', 'machineconfigs.')}`,
])('leads from %j to the runbook of a missing config', async (message) => {
  const text = await explain(message);
  expect(text).toMatch(/\n- MachineConfigGuardDanglingReference: /);
  expect(text).not.toContain('oc delete');
});

test.each([
  ['unexpected on-disk state validating against rendered-a-1: content mismatch', 'unexpected-on-disk-state-'],
  ['Internal error occurred: service "machineconfig-guard" not found', '-service-machineconfig-guard-not-found'],
  [STUCK.replace(/"[^"]*"/, '""'), 'machineconfigmachineconfigurationopenshiftio--not-found'],
  ['could not verify whether rendered-a-1 is in use (nodes)', 'could-not-verify-whether--is-in-use-'],
  [
    'could not verify whether rendered-a-1 is in use (nodes: the API server answered 403 Forbidden)',
    'the-api-server-answered-401-the-api-server-answered-403-the-api-server-answered-429',
  ],
  ['Internal error occurred: failed calling webhook "guard.machineconfig-guard.io": EOF', 'failed-calling-webhook-'],
])('prints for %j the section with the longest quote', async (message, anchor) => {
  expect(await explain(message)).toBe(await explain(`troubleshooting/${anchor}`));
});

test('joins words, as if they were quoted', async () => {
  expect(await explain(...STUCK.replaceAll('"', '').split(' '))).toBe(await explain(STUCK));
  expect(await explain('disconnected', 'site')).toBe(await explain('disconnected site'));
});

/** The words that an administrator would type, without a topic of this name. */
test.each([
  ['not found', 'troubleshooting/machineconfigmachineconfigurationopenshiftio--not-found'],
  ['not-found', 'troubleshooting/-service-machineconfig-guard-not-found'],
  ['NotFound', 'troubleshooting/-service-machineconfig-guard-not-found'],
  ['MachineConfigGuardAbsentt', 'MachineConfigGuardAbsent'],
  ['DiskDifers', 'inspect/why-does-it-not-move'],
  ['webhook', 'operate/no-webhook'],
  ['webhook timeout', 'troubleshooting/failed-calling-webhook-'],
  ['override', 'MCG_OVERRIDDEN'],
  ['how long does the hold last?', 'operate/hold-what-may-be-booting'],
  ['off for months', 'year'],
  ['operate/nowhere', 'operate'],
  ['restore etcd', 'year'],
  ['bypass', 'operate/let-deletions-through'],
  ['emergency', 'operate/no-webhook'],
  ['footprint', 'install/in-a-running-cluster'],
  ['what does it cost', 'install/in-a-running-cluster'],
  ['bandwidth', 'install/disconnected-clusters'],
  ['air gap', 'install/disconnected-clusters'],
  ['mirror', 'install/disconnected-clusters'],
  ['upgrade stuck', 'troubleshooting/is-the-guard-blocking-my-upgrade-drain-or-reboot'],
  ['CrashLoopBackOff', 'MachineConfigGuardAbsent'],
  ['ImagePullBackOff', 'MachineConfigGuardAbsent'],
  ['MCDRebootError', 'troubleshooting/is-the-guard-blocking-my-upgrade-drain-or-reboot'],
  ['NotReady', '`NodeNotReady`'],
  ['cordon', '`NodeCordoned`'],
  ['paused pool', '`PoolPaused`'],
  ['namespace terminating', '`ConfigTerminating`'],
  ['rollback', 'install/upgrade'],
  ['latency', 'monitoring/metrics'],
  ['priority class', 'install/in-a-running-cluster'],
  ['break glass', 'operate/let-deletions-through'],
  ['hypershift', 'install'],
  ['rosa', 'README/do-i-need-it'],
  ['license', 'README/pages'],
  ['updating forever', 'troubleshooting/a-node-or-a-machine-is-stuck'],
  ['MCG', 'codes'],
  ['--force', 'operate/let-deletions-through'],
])('lists for %s the nearest topics, such as %s, each with its meaning', async (given, nearest) => {
  const [text, seeAlso = ''] = (await explain(given)).split(SEE_ALSO);
  expect(text).toBe(`No topic has the name "${given}".\n`);
  expect(seeAlso).toContain(`- ${nearest}`);
  expect(findAll(seeAlso, /^- \S+: (\S)/gm).length).toBeLessThanOrEqual(5);
});

test('every alias of a topic leads to it', async () => {
  for (const [word, topic] of Object.entries(await readAliases()))
    expect(await explain(word)).toBe(await explain(topic));
});

test('prefers the topic with exactly this name', async () => {
  expect(await explain('audit')).toMatch(/^# The audit log\n/);
  expect(await explain('Audit')).toMatch(/^- `Audit`: /);
});

test.each(['MCG_FROBNICATE', 'lorem ipsum', ' '])('without a topic for %j, exits with 2', async (topic) => {
  const sentence = `unknown topic "${topic}"; list all topics: machineconfig-guard explain\n`;
  expect(await runProgram(['explain', topic])).toEqual(usageError(sentence));
});

test('prints the blocks of code in lists as they are', async () => {
  const blocks = findAll(readFile('docs/runbooks/MachineConfigGuardDanglingReference.md'), /^( +```[^]*?```)$/gm);
  expect(blocks).not.toEqual([]);
  const text = await explain('MachineConfigGuardDanglingReference');
  for (const block of blocks) expect(text).toContain(`\n${block}\n`);
});

test('does not search the language of blocks of code', async () => {
  const [, seeAlso = ''] = (await explain('console')).split(SEE_ALSO);
  expect(findAll(seeAlso, /^- (\S+): /gm)).toHaveLength(2);
});

test('fits into 80 columns, except for commands, tables and long words', async () => {
  useTerminal(80);
  for (const topic of [...CODES.map(([code]) => code), ...ALERTS, ...PAGES]) {
    const [text = '', seeAlso = ''] = stripVTControlCharacters(await explain(topic)).split(SEE_ALSO);
    const prose = text.replaceAll(/^```[^]*?^```$/gm, '').split('\n');
    const isTooLong = (line: string) => line.length > 80 && !/^\||\S{50}/.test(line);
    const tooLong = [...prose, ...seeAlso.split('\n')].filter(isTooLong);
    expect([topic, ...tooLong]).toEqual([topic]);
  }
});

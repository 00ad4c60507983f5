import { dirname } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { type Mode, MODES } from '../../../src/decision/settings.ts';
import type { KubeResponse } from '../control-plane/kube-client.ts';
import { pause, until } from '../control-plane/until.ts';
import { type AuditedOutcome, auditedVerdicts } from '../support/audit-log.ts';
import { DocumentedPage } from '../support/documented-page.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { PATHS } from '../support/paths.ts';
import { runBinaries } from '../support/run-binaries.ts';
import { Shell } from '../support/shell.ts';

const PAGE = DocumentedPage.read('docs/audit.md');
const BINDING = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/machineconfig-guard';
/** Within which a change of the settings works. */
const EFFECT_MS = 2_000;

type Verdict = 'in use' | 'held' | 'unverified' | 'overridden' | 'free';

/** What the audit log must have of one deletion. */
interface Expected {
  readonly outcome: AuditedOutcome;
  readonly code: string;
  readonly cause?: string;
  readonly status: number;
}

interface Seen extends Expected {
  readonly name: string;
}

const REFUSED: Readonly<Partial<Record<Verdict, { readonly code: string; readonly status: number }>>> = {
  'in use': { code: 'MCG_IN_USE', status: 403 },
  held: { code: 'MCG_HELD', status: 403 },
  unverified: { code: 'MCG_UNVERIFIED', status: 503 },
};

/** As the table of docs/audit.md has it. */
function expected(mode: Mode, verdict: Verdict): Expected {
  if (verdict === 'overridden') return { outcome: 'overridden', code: 'MCG_OVERRIDDEN', status: 200 };
  if (mode === 'Disabled') return { outcome: 'allowed', code: 'MCG_DISABLED', status: 200 };
  const refusal = REFUSED[verdict];
  if (refusal === undefined) return { outcome: 'allowed', code: 'MCG_NOT_IN_USE', status: 200 };
  if (mode === 'Enforce') return { outcome: 'denied', ...refusal };
  return { outcome: 'would-deny', code: 'MCG_WOULD_DENY', cause: refusal.code, status: 200 };
}

const seen = new Map<string, Seen>();
let installed: InstalledCluster;
let shell: Shell;

beforeAll(async () => {
  installed = await InstalledCluster.start(await runBinaries());
  await installed.applyOverlay('service-ca');
  await installed.awaitGuard();
  shell = await Shell.open(installed.controlPlane);
}, 120_000);

afterAll(() => installed.stop());

async function set(spec: object): Promise<void> {
  await installed.cluster.admin.patch(PATHS.guard, { spec });
  await pause(EFFECT_MS);
}

/** Asks for a deletion of that kind; the settings are right for it. */
async function ask(verdict: Verdict): Promise<readonly [name: string, response: KubeResponse]> {
  const { cluster } = installed;
  const annotations = verdict === 'overridden' ? { 'machineconfig-guard.io/allow-deletion': 'CHG-7' } : {};
  const name = await cluster.config({ annotations });
  if (verdict === 'in use' || verdict === 'overridden') await cluster.node({ currentConfig: name });
  if (verdict === 'held') {
    await pause(1_100);
    // The younger one, by which it is superseded.
    await cluster.config();
  }
  return [name, await cluster.delete(name)];
}

/** What the audit log has of a deletion of that kind. */
async function audited(mode: Mode, verdict: Verdict): Promise<Expected> {
  const [name, response] = await ask(verdict);
  const entries = Object.entries(auditedVerdicts(await installed.cluster.auditEvent(response)));
  const [entry] = entries;
  const { code = '', cause } = (entry?.[1] ?? {}) as { readonly code?: string; readonly cause?: string };
  const { status } = response;
  const outcome = (entries.length === 1 ? entry?.[0] : undefined) as AuditedOutcome;
  const found = { outcome, code, status, ...(cause === undefined ? {} : { cause }) };
  seen.set(`${mode} ${verdict}`, { name, ...found });
  return found;
}

describe.each(MODES)('mode %s', (mode) => {
  test('in use, overridden, free', async () => {
    await set({ mode, holdSuperseded: '0s' });
    for (const verdict of ['in use', 'overridden', 'free'] as const) {
      expect(await audited(mode, verdict)).toEqual(expected(mode, verdict));
    }
  });

  test('held', async () => {
    await set({ mode, holdSuperseded: '1h' });
    expect(await audited(mode, 'held')).toEqual(expected(mode, 'held'));
    await set({ holdSuperseded: '0s' });
  });

  test('could not be verified: the guard has lost its rights', async () => {
    const { admin } = installed.cluster;
    const binding = await admin.find(BINDING);
    await admin.delete(BINDING);
    // The API server notices a moment later.
    const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
    const user = 'system:serviceaccount:machineconfig-guard:machineconfig-guard';
    const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview' };
    const mayList = async () => {
      const spec = { user, resourceAttributes: { verb: 'list', resource: 'nodes' } };
      const { status } = (await admin.create(path, { ...review, metadata: {}, spec })) as {
        status?: { allowed?: boolean };
      };
      return status?.allowed === true;
    };
    await until('the rights to go', async () => !(await mayList()), { timeoutMs: 10_000 });
    try {
      expect(await audited(mode, 'unverified')).toEqual(expected(mode, 'unverified'));
    } finally {
      await admin.create(dirname(BINDING), { ...binding, metadata: { name: 'machineconfig-guard' } });
      await until('the rights to come back', mayList, { timeoutMs: 10_000 });
    }
  });
});

/** Those that ended so, by name. */
function having(isWanted: (one: Seen) => boolean): readonly Seen[] {
  return [...seen.values()].filter(isWanted);
}

/** Types what stands below a heading of docs/audit.md; its lines. */
async function answered(under: string): Promise<readonly string[]> {
  const [{ stdout }] = await PAGE.type(shell, { under });
  return stdout.trimEnd().split('\n');
}

describe('the queries of docs/audit.md', () => {
  test('get it', async () => {
    // Who asked last may not have been written yet.
    await pause(500);
    expect(await answered('Get it')).toEqual(['']);
  });

  test('who was refused', async () => {
    const lines = (await answered('Who was refused')).map(
      (line) => JSON.parse(line) as { time: string; user: string; client: string; decision: Seen },
    );
    for (const { name, code } of having(({ outcome }) => outcome === 'denied')) {
      const line = lines.find(({ decision }) => decision.name === name);
      expect(line).toMatchObject({ decision: { code }, time: expect.stringMatching(/^20\d\d-/) });
      expect(line?.user).not.toBe('');
    }
  });

  test('how often, by whom, and why', async () => {
    const lines = await answered('How often, by whom, and why');
    for (const code of ['MCG_IN_USE', 'MCG_HELD', 'MCG_UNVERIFIED']) {
      expect(lines).toContainEqual(expect.stringMatching(new RegExp(`^[1-9]\\d* \\S+ ${code}$`)));
    }
  });

  test('what could not be verified', async () => {
    const [{ name }] = having(({ code }) => code === 'MCG_UNVERIFIED') as [Seen];
    const said = new RegExp(
      `could not verify whether ${name} is in use \\(.*nodes: the API server answered 403 Forbidden`,
    );
    expect(await answered('What could not be verified')).toContainEqual(expect.stringMatching(said));
  });

  test('who overrode the guard', async () => {
    const lines = await answered('Who overrode the guard, and with which reason');
    const names = having(({ outcome }) => outcome === 'overridden').map(({ name }) => name);
    expect(lines.map((line) => line.split(' ').slice(2))).toEqual(names.map((name) => [name, 'CHG-7']));
  });

  test('what Enforce would have refused', async () => {
    const lines = (await answered('What Enforce would have refused')).map((line) => line.trim().split(/\s+/).slice(2));
    const wanted = having(({ outcome }) => outcome === 'would-deny').map(({ cause, name }) => [cause, name]);
    expect(wanted).toHaveLength(6);
    expect(lines).toEqual(expect.arrayContaining(wanted));
    expect(lines).toHaveLength(wanted.length);
  });

  test('what is gone', async () => {
    const lines = (await answered('What is gone')).map((line) => line.split(' ').slice(2));
    const gone = having(({ status }) => status === 200).map(({ name, code }) => [name, code]);
    expect(lines).toEqual(expect.arrayContaining(gone));
    for (const { name } of having(({ status }) => status !== 200)) {
      expect(lines.map(([deleted]) => deleted)).not.toContain(name);
    }
  });

  test('nothing of the page is left', () => {
    expect(PAGE.left).toEqual([]);
  });
});

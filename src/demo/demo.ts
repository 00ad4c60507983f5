import { Command, InvalidArgumentError, Option } from 'commander';
import type { Authority } from '../certificates/authority.ts';
import type { ReplayOptions } from './story/replay.ts';
import type { InMemoryCluster } from './cluster/in-memory-cluster.ts';
import type { Decision } from '../webhook/decision.ts';
import type { Guard } from '../guard/guard.ts';
import { formatConclusion, formatEvent, formatIntro, type Run, formatRunTitle } from './format-story.ts';
import { CliError, EXIT_CODE } from '../cli/exit.ts';
import { createTextFormat as createPage, type TextFormat as Page } from '../cli/text-format.ts';

interface DemoFlags {
  readonly output: 'text' | 'json';
  readonly speed: number;
}

/** One run of `demo --output json`. */
export interface DemoRun extends Run {
  /** What the guard decided, in order; empty in the run without it. */
  readonly decisions: readonly DemoDecision[];
}

/** One answer of the guard. */
export interface DemoDecision {
  readonly name: string;
  readonly user: string;
  readonly outcome: Decision['verdict']['outcome'];
  readonly code: Decision['verdict']['code'];
  readonly referrers: readonly { readonly kind: string; readonly name: string; readonly field: string }[];
  /** How long the answer took, in milliseconds. */
  readonly ms: number;
}

/** What `demo --output json` prints. */
export interface DemoReport {
  /** How many simulated seconds passed in a real one. */
  readonly speed: number;
  /** Did the run without the guard end in a dead-lock, and the one with it in a complete install? */
  readonly asExpected: boolean;
  readonly runs: readonly DemoRun[];
}

/** Two minutes of the story in a second: ten minutes take five seconds, and each line can still be read as it comes. */
const DEFAULT_SPEED = 120;
const SPEED_MAX = 10_000;
/** The story takes about so long without being accelerated, both runs together; seconds. */
const STORY_SECONDS = 1_180;
/** Keys, two API servers and the guard; seconds. */
const START_SECONDS = 2;
const READY_MS = 10_000;
/** The demo lives for seconds. */
const CERTIFICATE_DAYS = 1;

/** `demo`: the incident behind the guard, replayed on an embedded cluster without and with the real guard. */
export function createDemoCommand(): Command {
  const command = new Command('demo')
    .description('Watch the guard save an install that dead-locks without it, on a cluster in memory.')
    .addOption(new Option('--output <format>', 'what to print').choices(['text', 'json']).default('text'))
    .addOption(
      new Option('--speed <factor>', 'how many times as fast as the real install')
        .default(DEFAULT_SPEED)
        .argParser(speed),
    )
    .addHelpText(
      'after',
      `
Needs no cluster and leaves nothing behind: everything listens on 127.0.0.1 and ends with the command. The guard in it is
the real one. Exit code 0 if the run without it ends in a dead-lock and the one with it in a complete install, 1 otherwise.

Examples:
  machineconfig-guard demo
  machineconfig-guard demo --output json --speed 1000`,
    )
    .action(async (flags: DemoFlags) => {
      const output = command.configureOutput();
      const write = (text: string): void => {
        if (output.writeOut === undefined) process.stdout.write(text);
        else output.writeOut(text);
      };
      const text = flags.output === 'text';
      const page = createPage(process.stdout, process.env);
      const seconds = Math.ceil(STORY_SECONDS / flags.speed) + START_SECONDS;
      if (text) write(formatIntro(page, seconds));
      else if (process.stderr.isTTY) process.stderr.write(`replaying the install twice, about ${seconds} s\n`);
      const report = await demo(flags.speed, text ? { page, write } : undefined);
      write(text ? formatConclusion(page, report.runs, report.asExpected) : `${JSON.stringify(report, null, 2)}\n`);
      if (!report.asExpected) throw new CliError('', EXIT_CODE.no);
    });
  return command;
}

interface Teller {
  readonly page: Page;
  readonly write: (text: string) => void;
}

async function demo(speed: number, teller: Teller | undefined): Promise<DemoReport> {
  const { createAuthority } = await import('../certificates/authority.ts');
  const authority = await createAuthority({ days: CERTIFICATE_DAYS, now: new Date() });
  const without = await replay(false, authority, speed, teller);
  const guarded = await replay(true, authority, speed, teller);
  const asExpected = without.outcome === 'deadlock' && guarded.outcome === 'completed';
  return { speed, asExpected, runs: [without, guarded] };
}

/** One run on a cluster of its own. */
async function replay(
  guarded: boolean,
  authority: Authority,
  speed: number,
  teller: Teller | undefined,
): Promise<DemoRun> {
  const [{ startInMemoryCluster }, { replayIncidentA }] = await Promise.all([
    import('./cluster/in-memory-cluster.ts'),
    import('./story/replay.ts'),
  ]);
  const sandbox = await startInMemoryCluster({ authority });
  const decisions: DemoDecision[] = [];
  let guard: Guard | undefined;
  try {
    if (guarded) guard = await guardOf(sandbox, authority, (decision) => decisions.push(shown(decision)));
    teller?.write(formatRunTitle(teller.page, guarded));
    const options: ReplayOptions = {
      sandbox,
      speed,
      signal: new AbortController().signal,
      onEvent: (event) => teller?.write(formatEvent(teller.page, event)),
    };
    return { guard: guarded, ...(await replayIncidentA(options)), decisions };
  } finally {
    await guard?.stop();
    await sandbox.stop();
  }
}

/** The real guard, with the sandbox as its cluster, registered there as it is in any other. */
async function guardOf(
  sandbox: InMemoryCluster,
  authority: Authority,
  onDecision: (decision: Decision) => void,
): Promise<Guard> {
  const [
    { issueLeaf },
    { KubeApi },
    { connectionFromKubeconfig },
    { buildWebhookConfiguration },
    { startGuard },
    serving,
    pino,
  ] = await Promise.all([
    import('../certificates/leaf.ts'),
    import('../kube/api.ts'),
    import('../kube/connection.ts'),
    import('../install/webhook-configuration.ts'),
    import('../guard/guard.ts'),
    import('../certificates/serving-certificate.ts'),
    import('pino'),
  ]);
  const host = '127.0.0.1';
  const leaf = await issueLeaf({
    authority,
    dnsNames: [],
    ipAddresses: [host],
    days: CERTIFICATE_DAYS,
    now: new Date(),
  });
  const guard = await startGuard({
    api: new KubeApi(connectionFromKubeconfig(sandbox.kubeconfigFor(SERVICE_ACCOUNT))),
    certificate: serving.createFixedCertificate(leaf),
    // What it decides is in the report. What it warns of (the API goes away) is part of the story.
    log: pino.pino({ level: 'silent' }),
    bindAddress: host,
    securePort: 0,
    healthPort: 0,
    shutdownDelayMs: 0,
    onDecision,
  });
  try {
    await guard.whenReady(AbortSignal.timeout(READY_MS));
  } catch (error) {
    await guard.stop();
    throw new Error('the guard did not get ready within 10 s', { cause: error });
  }
  const url = `https://${host}:${guard.securePort}/validate`;
  const caBundle = Buffer.from(authority.certificatePem).toString('base64');
  sandbox.create(
    'validatingwebhookconfigurations',
    buildWebhookConfiguration({ clientConfig: { url, caBundle }, failurePolicy: 'Fail' }),
  );
  return guard;
}

/** Who the guard is in a cluster where it is installed. */
const SERVICE_ACCOUNT = 'system:serviceaccount:machineconfig-guard:machineconfig-guard';

function shown({ name, user, verdict, ms }: Decision): DemoDecision {
  const referrers = verdict.references.map(({ kind, name, field }) => ({ kind, name, field }));
  return { name, user, outcome: verdict.outcome, code: verdict.code, referrers, ms: Math.round(ms * 10) / 10 };
}

function speed(value: string): number {
  const factor = Number(value);
  if (!/^\d+$/.test(value) || factor < 1 || factor > SPEED_MAX) {
    throw new InvalidArgumentError(`It is a whole number from 1 to ${SPEED_MAX}.`);
  }
  return factor;
}

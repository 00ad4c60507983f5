import { Command, Option } from 'commander';
import type { KubeApi } from '../../kube/api.ts';
import type {
  PolicyBinding,
  InstalledProtection,
  Protection,
  RegisteredWebhook,
  TrialResponse,
} from '../../inspect/protection.ts';
import { toPrintableLine } from '../../decision/printable-text.ts';
import { createKubeApi, type ClusterFlags, addClusterFlags } from '../cluster-options.ts';
import { CliError, EXIT_CODE } from '../exit.ts';
import type { TrialCandidates } from '../../inspect/trial-deletion.ts';

interface VerifyFlags extends ClusterFlags {
  readonly output: 'text' | 'json';
}

/** What `verify --output json` prints. */
interface VerifyReport {
  readonly server: string;
  readonly protected: boolean;
  readonly by: 'guard' | 'floor' | null;
  readonly explanation: string;
  readonly advice: string;
  readonly webhooks: readonly RegisteredWebhook[];
  readonly floor: readonly PolicyBinding[];
  /** Null where there is no MachineConfigGuard. */
  readonly mode: string | null;
  /** The config in use, and who uses it; null where there is none to try it with. */
  readonly tried: {
    readonly config: string;
    readonly kind: string;
    readonly name: string;
    readonly field: string;
  } | null;
  readonly answer: TrialResponse | null;
  /** The same for a config that nothing uses; null where there is none. */
  readonly unused: { readonly config: string; readonly wouldBeDeleted: boolean; readonly message: string } | null;
}

/** Writes one thing that was found out, as soon as it is. */
type Note = (what: string, said: string) => void;

/** A candidate may go while we look at it. */
const ATTEMPTS = 3;
/** A refusal may name many; the whole of it is in the JSON. */
const QUOTED_MAX = 1_000;

/** `verify`: is a config in use really protected? Asks the API server by a dry run; can never delete anything. */
export function createVerifyCommand(): Command {
  const command = new Command('verify')
    .description(
      'See whether the deletion of a config in use is refused, and by whom. A dry run: nothing is ever deleted.',
    )
    .addOption(new Option('-o, --output <format>', 'what to print').choices(['text', 'json']).default('text'))
    .addHelpText(
      'after',
      `
Chooses a rendered MachineConfig that a node (else a pool, else a build) uses and asks the API server to delete it with
dryRun=All. Before that it makes sure that dry runs are honoured, and afterwards that the config is still there.
Needs the rights to read what is installed, to list nodes, pools, builds and configs, and to delete machineconfigs.

Exit codes:
  0  protected: the guard or the policies refuse
  1  not protected, and what to do about it; also where nothing is in use that it could be tried with
  2  wrong usage
  3  the API server cannot be reached, does not permit it, or does not honour dry runs

Example:
  machineconfig-guard verify --kubeconfig ~/.kube/config`,
    )
    .action(async (flags: VerifyFlags) => {
      const json = flags.output === 'json';
      const output = command.configureOutput();
      const api = await createKubeApi(flags, 'machineconfig-guard/verify');
      try {
        const report = await verify(api, (what, said) => {
          // A webhook that does not answer takes its whole timeout: what is known is shown meanwhile.
          if (!json) output.writeOut?.(`${what.padEnd(9)} ${toPrintableLine(said, QUOTED_MAX)}\n`);
        });
        output.writeOut?.(json ? `${JSON.stringify(report, null, 2)}\n` : conclusionOf(report));
        if (!report.protected) throw new CliError('', EXIT_CODE.no);
      } finally {
        api.close();
      }
    });
  return addClusterFlags(command);
}

async function verify(api: KubeApi, note: Note): Promise<VerifyReport> {
  const [
    { assessProtection },
    { readInstalledProtection },
    { findTrialCandidates, assertDryRunIsHonored, tryDryRunDeletion },
  ] = await Promise.all([
    import('../../inspect/protection.ts'),
    import('../../inspect/installed-protection.ts'),
    import('../../inspect/trial-deletion.ts'),
  ]);
  const installed = await readInstalledProtection(api);
  noteInstalled(installed, note);
  const report = { server: api.address, ...installed, mode: installed.mode ?? null };
  let unused: VerifyReport['unused'] = null;
  let found: TrialCandidates | undefined;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    found = await findTrialCandidates(api);
    if (attempt === 0 && (found.unused ?? found.used) !== undefined) await assertDryRunIsHonored(api);
    // First the one that nobody would miss.
    if (unused === null && found.unused !== undefined) {
      const answer = await tryDryRunDeletion(api, found.unused);
      if (answer !== undefined) {
        const { config } = found.unused;
        unused = { config, wouldBeDeleted: answer.status < 400, message: answer.message };
        note('unused', `${config} ${unused.wouldBeDeleted ? 'could be deleted' : `is refused: ${answer.message}`}`);
      }
    }
    if (found.used === undefined) break;
    const { config, reference } = found.used;
    const { kind, name, field } = reference;
    note('tried', `dry-run deletion of ${config}, in use by ${kind} ${name} (${field})`);
    const answer = await tryDryRunDeletion(api, found.used);
    if (answer === undefined) continue;
    note('answer', answer.status < 400 ? 'it would be deleted' : `${answer.status} ${answer.message}`);
    return {
      ...report,
      ...judgedAs(assessProtection(answer, installed, kind)),
      tried: { config, kind, name, field },
      answer,
      unused,
    };
  }
  return { ...report, ...judgedAs(nothingToTry(found)), tried: null, answer: null, unused };
}

function judgedAs({ by, isProtected, ...rest }: Protection) {
  return { ...rest, protected: isProtected, by: by ?? null };
}

function noteInstalled({ webhooks, floor, mode }: InstalledProtection, note: Note): void {
  if (webhooks.length === 0) note('webhook', 'none');
  for (const { configuration, failurePolicy, target, caBundle, injected } of webhooks) {
    const bundle = caBundle ? 'a caBundle' : injected ? 'no caBundle yet: it is to be injected' : 'no caBundle';
    note('webhook', `${configuration}, failurePolicy ${failurePolicy}, ${bundle}, ${target}`);
  }
  const bound = floor.map(({ policy, actions }) => `${policy} (${actions.join(', ')})`);
  note('policies', bound.length === 0 ? 'none' : bound.join(', '));
  note('mode', mode ?? 'Enforce (there is no MachineConfigGuard)');
}

/** Not the same as unprotected, but nothing that a script could go on with either. */
function nothingToTry(found: TrialCandidates | undefined): Protection {
  const why =
    found?.used !== undefined
      ? 'the configs that it was tried with went away meanwhile'
      : found === undefined || found.configs === 0
        ? 'there are no rendered MachineConfigs'
        : found.overridden > 0
          ? 'every rendered MachineConfig in use has the annotation that allows its deletion, or none is in use'
          : 'no rendered MachineConfig is in use by a node or a pool';
  return {
    isProtected: false,
    by: undefined,
    explanation: `there is nothing to try it with: ${why}`,
    advice:
      found?.used === undefined ? 'come back once the Machine Config Operator has rolled one out' : 'run it once more',
  };
}

function conclusionOf({ protected: isProtected, explanation, advice }: VerifyReport): string {
  const verdict = `${isProtected ? 'Protected' : 'NOT PROTECTED'}: ${explanation}.`;
  return ['', verdict, ...(advice === '' ? [] : [`Do: ${advice}`]), ''].join('\n');
}

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import type { ProcessResult } from './process.ts';
import type { Shell } from './shell.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
/** Replaces the digest that a page leaves to its reader. */
export const DOCUMENTED_DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`;

/**
 * No test runs these. They need other programs, a registry or a hub, or have a step of their own in .ci/run.
 */
const NEEDS_ANOTHER_MACHINE: readonly RegExp[] = [
  /^(podman|cosign|skopeo|openshift-install|kustomize|\(cd \S+ && kustomize|npm run) /,
  /^oc (adm prune|adm inspect|image mirror|mirror) /,
  // A published release. test/release builds one.
  /^npm ci |X\.Y\.Z|^issuer=|SHA256SUMS|\bIMAGE\b|^tar /,
  // The kind AlertingRule belongs to OpenShift's monitoring.
  / --profile platform-alert /,
];

/** A command that a page tells its reader to run. */
interface DocumentedCommand {
  /** The heading above the command. */
  readonly heading: string;
  readonly line: string;
  readonly exitCode: number;
}

/**
 * The commands of a page that a test can run: the lines of its `sh` blocks, and the lines with a prompt of
 * its `console` blocks. `npm run test:readme` runs the `sh` blocks of README.md.
 */
function documentedCommands(file: string): readonly DocumentedCommand[] {
  const page = readFileSync(join(ROOT, file), 'utf8');
  const commands: DocumentedCommand[] = [];
  let heading = '';
  let block: string | undefined;
  for (const line of page.replaceAll(/ \\\n\s*/g, ' ').split('\n')) {
    const fence = /^```(?<language>\w*)$/.exec(line);
    if (fence !== null) block = block === undefined ? fence.groups?.['language'] : undefined;
    else if (block === undefined) heading = /^#+ (?<text>.*)$/.exec(line)?.groups?.['text'] ?? heading;
    else if (block === 'sh' && line !== '' && file !== 'README.md') commands.push(parseCommand(heading, line));
    else if (block === 'console' && line.startsWith('$ ')) commands.push(parseCommand(heading, line.slice(2)));
  }
  return commands.filter(({ line }) => !NEEDS_ANOTHER_MACHINE.some((pattern) => pattern.test(line)));
}

/** A comment after the command names its exit code if that is not 0. */
function parseCommand(heading: string, line: string): DocumentedCommand {
  const [, exitCode = 0] = /\s+# exit code (\d)$/.exec(line) ?? [];
  return { heading, line: line.replace(/\s+# .*$/, ''), exitCode: Number(exitCode) };
}

/** A page of the documentation whose commands a test runs. */
export class DocumentedPage {
  readonly #commands: readonly DocumentedCommand[];
  /** The commands that did not run yet. */
  readonly #remaining: Set<DocumentedCommand>;

  /** @param file path in the repository */
  constructor(file: string) {
    this.#commands = documentedCommands(file);
    this.#remaining = new Set(this.#commands);
  }

  /** The lines of the commands that did not run yet. */
  get remaining() {
    return Array.from(this.#remaining, ({ line }) => line);
  }

  /**
   * Runs the selected commands in their order.
   *
   * @param selection `heading`: above the commands. `exitCodes`: of lines that end differently in the state that the
   *   test created
   * @throws Error if a command has another exit code than documented
   */
  async run(
    shell: Shell,
    selection: {
      readonly heading?: string;
      readonly isWanted?: (line: string) => boolean;
      readonly exitCodes?: Readonly<Record<string, number>>;
    } = {},
  ): Promise<readonly [ProcessResult, ...ProcessResult[]]> {
    const { heading, isWanted = () => true, exitCodes = {} } = selection;
    const results: ProcessResult[] = [];
    for (const command of this.#commands) {
      if ((heading !== undefined && command.heading !== heading) || !isWanted(command.line)) continue;
      const result = await shell.run(fillPlaceholders(command.line));
      const expected = exitCodes[command.line] ?? command.exitCode;
      const { exitCode, stderr, stdout } = result;
      if (exitCode !== expected) throw new Error(`${command.line}\nexit code ${exitCode}:\n${stderr}${stdout}`);
      this.#remaining.delete(command);
      results.push(result);
    }
    const [first, ...rest] = results;
    if (first === undefined) throw new Error(`There is no such command under "${heading ?? ''}".`);
    return [first, ...rest];
  }
}

function fillPlaceholders(line: string) {
  return line
    .replaceAll('sha256:…', DOCUMENTED_DIGEST)
    .replaceAll('--image …', '--image example.com/guard')
    .replaceAll('rendered-worker-…', 'rendered-worker-a1a2c3d4e5f60718293a4b5c6d7e8f90');
}

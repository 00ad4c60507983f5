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

/** A command that a page tells its reader to run, and the heading above it. */
interface DocumentedCommand {
  readonly heading: string;
  readonly line: string;
  readonly exitCode: number;
}

/**
 * A page of the documentation whose commands a test runs: the lines of its `sh` blocks, and the lines with a prompt of
 * its `console` blocks. docs/readme.test.ts runs the `sh` blocks of README.md.
 */
export class DocumentedPage {
  readonly #commands: DocumentedCommand[] = [];
  /** The commands that did not run yet. */
  readonly #remaining: Set<DocumentedCommand>;

  /** @param file path in the repository */
  constructor(file: string) {
    let heading = '';
    let block: string | undefined;
    for (const text of readFileSync(join(ROOT, file), 'utf8')
      .replaceAll(/ \\\n\s*/g, ' ')
      .split('\n')) {
      const fence = /^```(?<language>\w*)$/.exec(text);
      if (fence !== null) block = block === undefined ? fence.groups?.['language'] : undefined;
      else if (block === undefined) heading = /^#+ (?<text>.*)$/.exec(text)?.groups?.['text'] ?? heading;
      const isCommand = block === 'console' ? text.startsWith('$ ') : block === 'sh' && file !== 'README.md';
      if (fence !== null || text === '' || !isCommand) continue;
      const line = text.replace(/^\$ /, '').replace(/\s+# .*$/, '');
      // A comment after the command names its exit code if that is not 0.
      const [, exitCode = 0] = /\s+# exit code (\d)$/.exec(text) ?? [];
      if (!NEEDS_ANOTHER_MACHINE.some((pattern) => pattern.test(line)))
        this.#commands.push({ heading, line, exitCode: Number(exitCode) });
    }
    this.#remaining = new Set(this.#commands);
  }

  /** The lines of the commands that did not run yet. */
  get remaining() {
    return Array.from(this.#remaining, ({ line }) => line);
  }

  /**
   * Runs the selected commands in their order.
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
      const { exitCode, stderr, stdout } = result;
      if (exitCode !== (exitCodes[command.line] ?? command.exitCode))
        throw new Error(`${command.line}\nexit code ${exitCode}:\n${stderr}${stdout}`);
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

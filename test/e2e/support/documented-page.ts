import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import type { Shell, Typed } from './shell.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
/** Behind a command: how it is meant to end, if not with 0. */
const EXIT_CODE = /\s+# exit code (?<code>\d)$/;
/** What a page leaves to its reader. */
const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`;

/** What cannot be typed here, and why. Everything else that a page tells its reader to type is run. */
export const NEEDS_ANOTHER_MACHINE: readonly (readonly [command: RegExp, why: string])[] = [
  [/^podman /, 'a container engine'],
  [/^cosign /, 'a registry, and a key to sign with'],
  [/^openshift-install /, "the installer's program"],
  [/^kustomize /, 'kustomize as a program of its own; kubectl builds kustomizations and edits none'],
  [/^oc adm prune /, 'oc; what it deletes is what the other tests delete'],
  [/^oc image mirror /, 'oc, and two registries'],
  [/^oc apply -f docs\/fleet\/policy-mode\.yaml$/, 'a hub of Open Cluster Management'],
  [/^oc label managedcluster /, 'a hub of Open Cluster Management'],
  [/alerting-rule\.yaml$/, "OpenShift's monitoring: the kind AlertingRule is its own"],
];

/** Something that a page tells its reader to type. */
export interface DocumentedCommand {
  /** The heading that it stands under. */
  readonly heading: string;
  readonly line: string;
  readonly exitCode: number;
}

/**
 * Commands of a page: the lines of its `sh` blocks, and what follows a prompt in its `console` blocks. `npm run test:readme` types the
 * `sh` blocks of README.md, on a machine that has nothing yet.
 */
export function documentedCommands(file: string): readonly DocumentedCommand[] {
  const page = readFileSync(join(ROOT, file), 'utf8');
  const commands: DocumentedCommand[] = [];
  let heading = '';
  let block: string | undefined;
  for (const line of page.replaceAll(/ \\\n\s*/g, ' ').split('\n')) {
    const fence = /^```(?<language>\w*)$/.exec(line);
    if (fence !== null) block = block === undefined ? fence.groups?.['language'] : undefined;
    else if (block === undefined) heading = /^#+ (?<text>.*)$/.exec(line)?.groups?.['text'] ?? heading;
    else if (block === 'sh' && line !== '' && file !== 'README.md') commands.push(commandOf(heading, line));
    else if (block === 'console' && line.startsWith('$ ')) commands.push(commandOf(heading, line.slice(2)));
  }
  return commands;
}

function commandOf(heading: string, line: string): DocumentedCommand {
  const exitCode = Number(EXIT_CODE.exec(line)?.groups?.['code'] ?? 0);
  return { heading, line: line.replace(/\s+# .*$/, ''), exitCode };
}

/** What of a page is typed. */
interface Part {
  /** The heading that it stands under. */
  readonly under?: string;
  readonly isWanted?: (line: string) => boolean;
  /** How lines are meant to end in the state that a test has made, where that is not what the page says. */
  readonly exitCodes?: Readonly<Record<string, number>>;
}

/** A page of the documentation, whose commands a test types as its reader would. */
export class DocumentedPage {
  readonly #commands: readonly DocumentedCommand[];
  readonly #typed = new Set<DocumentedCommand>();

  private constructor(file: string) {
    this.#commands = documentedCommands(file);
  }

  /** A page by its path in the repository. */
  static read(file: string): DocumentedPage {
    return new DocumentedPage(file);
  }

  /** What nobody has typed yet, without what cannot be typed here. */
  get left(): readonly string[] {
    return this.#commands
      .filter((command) => !this.#typed.has(command) && !isExcepted(command))
      .map(({ line }) => line);
  }

  /** Types the page or a part of it, in its order; what each line has said. Throws where one does not end as it is meant to. */
  async type(
    shell: Shell,
    { under, isWanted = () => true, exitCodes = {} }: Part = {},
  ): Promise<readonly [Typed, ...Typed[]]> {
    const commands = this.#commands.filter(
      (command) => (under === undefined || command.heading === under) && isWanted(command.line) && !isExcepted(command),
    );
    const all: Typed[] = [];
    for (const command of commands) {
      const typed = await shell.type(filledIn(command.line));
      const wanted = exitCodes[command.line] ?? command.exitCode;
      if (typed.exitCode !== wanted) {
        const { exitCode, stderr, stdout } = typed;
        throw new Error(`${command.line}\nended with ${exitCode} instead of ${wanted}:\n${stderr}${stdout}`);
      }
      this.#typed.add(command);
      all.push(typed);
    }
    const [first, ...rest] = all;
    if (first === undefined) throw new Error(`There is nothing to type under "${under ?? ''}".`);
    return [first, ...rest];
  }
}

function filledIn(line: string): string {
  return line
    .replaceAll('sha256:…', DIGEST)
    .replaceAll('--image …', '--image example.com/guard')
    .replaceAll('rendered-worker-…', 'rendered-worker-a1a2c3d4e5f60718293a4b5c6d7e8f90');
}

function isExcepted({ line }: DocumentedCommand): boolean {
  return NEEDS_ANOTHER_MACHINE.some(([pattern]) => pattern.test(line));
}

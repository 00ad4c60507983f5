import type { Replay } from './story/replay.ts';
import type { StoryEvent } from './story/scene.ts';
import { applyStyle, type Style, type TextFormat as Page, wrapText } from '../cli/text-format.ts';

/** One run of the story. */
export interface Run extends Replay {
  readonly guard: boolean;
}

/** `T+10m06s installer `: what stands left of a line's text. */
const MOMENT_WIDTH = 9;
const ACTOR_WIDTH = 10;

/** Before anything happens: what this is about, for somebody who has never heard of it. */
export function formatIntro(page: Page, seconds: number): string {
  const paragraphs = [
    `An OpenShift install, replayed twice on a cluster in memory: without the guard, then with it. About ${seconds} seconds.`,
    'The Machine Config Operator merges all MachineConfigs of a pool of nodes into one rendered MachineConfig, such as rendered-master-aaa111. Every node names two of them: the one it runs (current) and the one it is to run (desired). If one that a node names is deleted, the node turns Degraded, and the operator does not update a Degraded node.',
    'In this install a second rendered config, rendered-master-bbb222, replaces the first. control1 has moved on to it, control2 has not, when a clean-up job deletes the first one: no pool names it any more, and the job does not ask the nodes. (The operator itself deletes none; jobs, scripts and people do.)',
  ];
  const [title = '', ...rest] = paragraphs.map((paragraph) => wrapText(paragraph, page.width).join('\n'));
  return `${[applyStyle(page, 'bold', title), ...rest].join('\n\n')}\n`;
}

/** The head of a run's story. */
export function formatRunTitle(page: Page, guard: boolean): string {
  const title = guard ? '2  With the guard' : '1  Without the guard';
  const explanation = guard
    ? 'The same install; the guard is registered as a validating webhook for deletions.'
    : 'Nothing watches over deletions.';
  return `\n${applyStyle(page, 'bold', title)}\n${explanation}\n\n`;
}

/** One line of the story. A refusal follows word by word. */
export function formatEvent(page: Page, { t, actor, message, refusal }: StoryEvent): string {
  const left = MOMENT_WIDTH + ACTOR_WIDTH;
  const [first = '', ...rest] = wrapText(message, page.width - left);
  const style = styleOf(message, actor);
  const lines = [
    `${applyStyle(page, 'dim', formatStoryTime(t).padEnd(MOMENT_WIDTH))}${actor.padEnd(ACTOR_WIDTH)}${applyStyle(page, style, first)}`,
    ...rest.map((line) => `${' '.repeat(left)}${applyStyle(page, style, line)}`),
  ];
  if (refusal !== undefined) {
    const indent = '    ';
    const status = `Error from server (${refusal.reason}): ${refusal.message}`;
    const words = wrapText(status, page.width - indent.length);
    lines.push('', ...words.map((line) => `${indent}${applyStyle(page, 'yellow', line)}`), '');
  }
  return `${lines.join('\n')}\n`;
}

/** How both runs ended, and what follows from that. */
export function formatConclusion(page: Page, runs: readonly Run[], asExpected: boolean): string {
  const tables = runs.map((run) => endTable(page, run)).join('\n');
  const verdict = asExpected
    ? 'The refused deletion is the whole difference: the config stayed until no node needed it, and was deleted then.'
    : 'This is not how it should have ended: without the guard a dead-lock, with it a complete install. Please report it with the output of --output json.';
  const next = [
    'Next, in README.md:',
    '  "Try it"   machineconfig-guard dev     in front of a cluster of your own',
    '  "Run it"   machineconfig-guard serve   as it runs in a cluster',
  ];
  const said = wrapText(verdict, page.width).map((line) => applyStyle(page, asExpected ? 'bold' : 'red', line));
  return `\n${tables}\n${said.join('\n')}\n\n${next.join('\n')}\n`;
}

/** `T+6m06s`. */
export function formatStoryTime(seconds: number): string {
  return `T+${Math.floor(seconds / 60)}m${String(seconds % 60).padStart(2, '0')}s`;
}

function endTable(page: Page, { guard, outcome, nodes, configs }: Run): string {
  const completed = outcome === 'completed';
  const end = completed ? 'the install completes' : 'dead-lock, the install never ends';
  const title = `${guard ? 'With the guard' : 'Without the guard'}: ${end}`;
  const head = ['NODE', 'CURRENT', 'DESIRED', 'STATE'];
  const rows = nodes.map(({ name, current, desired, state }) => [
    name,
    marked(current, configs),
    marked(desired, configs),
    state,
  ]);
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const lines = [head, ...rows].map((row, index) => {
    const line = row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ');
    const style = index === 0 ? 'dim' : row[3] === 'Degraded' ? 'red' : undefined;
    return `  ${applyStyle(page, style, line.trimEnd())}`;
  });
  const missing = nodes.some(({ current, desired }) => [current, desired].some((config) => !configs.includes(config)));
  if (missing) lines.push(applyStyle(page, 'dim', '  * no longer exists'));
  return `${applyStyle(page, completed ? ['green', 'bold'] : ['red', 'bold'], title)}\n${lines.join('\n')}\n`;
}

function marked(config: string, configs: readonly string[]): string {
  return configs.includes(config) ? config : `${config}*`;
}

function styleOf(message: string, actor: string): Style | undefined {
  if (message.includes('Degraded') || message.startsWith('stuck')) return 'red';
  if (message.startsWith('complete')) return 'green';
  return actor === 'clean-up' ? 'yellow' : undefined;
}

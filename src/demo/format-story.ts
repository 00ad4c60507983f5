import { formatTable } from '../cli/table.ts';
import { applyStyle, type Style, type TextFormat, wrapText } from '../cli/text-format.ts';
import type { DemoReport, DemoRun } from './run-demo.ts';
import type { StoryEvent } from './story/story.ts';

const TIME_WIDTH = 9;
const ACTOR_WIDTH = 10;

export function formatIntro(format: TextFormat, seconds: number): string {
  const paragraphs = [
    'An OpenShift install, replayed twice on a cluster in memory: without the guard, then with it. ' +
      `About ${seconds} seconds.`,
    'The Machine Config Operator merges all MachineConfigs of a pool of nodes into one rendered MachineConfig, such ' +
      'as rendered-master-aaa111. Every node names two of them: the one it runs (current) and the one it is to run ' +
      '(desired). If one that a node names is deleted, the node turns Degraded, and the operator does not update a ' +
      'Degraded node.',
    'In this install a second rendered config, rendered-master-bbb222, replaces the first. control1 has moved on to ' +
      'it, control2 has not, when a clean-up job deletes the first one: no pool names it any more, and the job does ' +
      'not ask the nodes. (The operator itself deletes none; jobs, scripts and people do.)',
  ];
  const [title = '', ...rest] = paragraphs.map((paragraph) => wrapText(paragraph, format.width).join('\n'));
  return `${[applyStyle(format, 'bold', title), ...rest].join('\n\n')}\n`;
}

export function formatRunTitle(format: TextFormat, isGuarded: boolean): string {
  const title = isGuarded ? '2  With the guard' : '1  Without the guard';
  const explanation = isGuarded
    ? 'The same install; the guard is registered as a validating webhook for deletions.'
    : 'Nothing watches over deletions.';
  return `\n${applyStyle(format, 'bold', title)}\n${explanation}\n\n`;
}

export function formatEvent(format: TextFormat, { t, actor, message, refusal }: StoryEvent): string {
  const indent = TIME_WIDTH + ACTOR_WIDTH;
  const style = chooseStyle(message, actor);
  const [first = '', ...rest] = wrapText(message, format.width - indent).map((line) => applyStyle(format, style, line));
  const time = `T+${Math.floor(t / 60)}m${String(t % 60).padStart(2, '0')}s`.padEnd(TIME_WIDTH);
  const lines = [
    `${applyStyle(format, 'dim', time)}${actor.padEnd(ACTOR_WIDTH)}${first}`,
    ...rest.map((line) => `${' '.repeat(indent)}${line}`),
  ];
  if (refusal !== undefined) {
    const denial = wrapText(`Error from server (${refusal.reason}): ${refusal.message}`, format.width - 4);
    lines.push('', ...denial.map((line) => `    ${applyStyle(format, 'yellow', line)}`), '');
  }
  return `${lines.join('\n')}\n`;
}

export function formatConclusion(format: TextFormat, { runs, asExpected }: Omit<DemoReport, 'speed'>): string {
  const tables = runs.map((run) => formatEnd(format, run)).join('\n');
  const verdict = asExpected
    ? 'The refused deletion is the whole difference: the config stayed until no node needed it, and was deleted then.'
    : 'This is not how it should have ended: without the guard a dead-lock, with it a complete install. Please ' +
      'report it with the output of --output json.';
  const lines = wrapText(verdict, format.width).map((line) => applyStyle(format, asExpected ? 'bold' : 'red', line));
  const next = [
    'Next, in README.md:',
    '  "Try it"   machineconfig-guard dev     in front of a cluster of your own',
    '  "Run it"   machineconfig-guard serve   as it runs in a cluster',
  ];
  return `\n${tables}\n${lines.join('\n')}\n\n${next.join('\n')}\n`;
}

function formatEnd(format: TextFormat, { guard, outcome, nodes, configs }: DemoRun): string {
  const isComplete = outcome === 'completed';
  const end = isComplete ? 'the install completes' : 'dead-lock, the install never ends';
  const title = `${guard ? 'With the guard' : 'Without the guard'}: ${end}`;
  const formatConfig = (config: string): string => (configs.includes(config) ? config : `${config}*`);
  const columns = ['NODE', 'CURRENT', 'DESIRED', 'STATE'].map((head) => ({ head }));
  const rows = nodes.map(({ name, current, desired, state }) => {
    const style = state === 'Degraded' ? ('red' as const) : undefined;
    return [name, formatConfig(current), formatConfig(desired), state].map((text) => ({ text, style }));
  });
  const table = formatTable(format, columns, rows).replaceAll(/^(?=.)/gm, '  ');
  const isMissing = rows.flat().some(({ text }) => text.endsWith('*'));
  const note = isMissing ? `${applyStyle(format, 'dim', '  * no longer exists')}\n` : '';
  return `${applyStyle(format, isComplete ? ['green', 'bold'] : ['red', 'bold'], title)}\n${table}${note}`;
}

function chooseStyle(message: string, actor: string): Style | undefined {
  if (message.includes('Degraded') || message.startsWith('stuck')) return 'red';
  if (message.startsWith('complete')) return 'green';
  return actor === 'clean-up' ? 'yellow' : undefined;
}

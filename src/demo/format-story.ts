import { formatTable } from '../cli/table.ts';
import { applyStyle, type Style, type TextFormat, wrapText } from '../cli/text-format.ts';
import type { DemoReport, DemoRun } from './run-demo.ts';
import type { SimulationEvent } from './operator/simulation.ts';

const TIME_WIDTH = 9;
const ACTOR_WIDTH = 10;

export function formatIntro(format: TextFormat, seconds: number): string {
  const paragraphs = [
    'This demo replays an OpenShift install on a cluster in memory: without the guard, then with it. ' +
      `About ${seconds} seconds.`,
    'The Machine Config Operator merges all MachineConfigs of a pool of nodes into one rendered MachineConfig, such ' +
      'as rendered-master-aaa111. Every node names two of them: the config that it runs (current) and the config ' +
      'that it should run (desired). If one of them is deleted, the node turns Degraded. Its machine-config-daemon ' +
      'cannot update it any more, because it fails on the missing config.',
    'In this install a second rendered config, rendered-master-bbb222, replaces the first. control1 already runs ' +
      'the second one, control2 still runs the first one. Then a clean-up job deletes the first one, because no pool ' +
      'names it and the job does not check the nodes. (The operator itself deletes no rendered configs. Jobs, ' +
      'scripts and people do.)',
  ];
  const [title = '', ...rest] = paragraphs.map((paragraph) => wrapText(paragraph, format.width).join('\n'));
  return `${[applyStyle(format, 'bold', title), ...rest].join('\n\n')}\n`;
}

export function formatRunTitle(format: TextFormat, isGuarded: boolean): string {
  const title = isGuarded ? '2  With the guard' : '1  Without the guard';
  const explanation = isGuarded
    ? 'The same install. The guard is a validating webhook for deletions.'
    : 'Nothing checks deletions.';
  return `\n${applyStyle(format, 'bold', title)}\n${explanation}\n\n`;
}

export function formatEvent(format: TextFormat, { t, actor, message, refusal }: SimulationEvent): string {
  const indent = TIME_WIDTH + ACTOR_WIDTH;
  const style = chooseStyle(message, actor);
  const [first = '', ...rest] = wrapText(message, format.width - indent).map((line) =>
    applyStyle(format, style, line),
  );
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
    ? 'The denied deletion is the only difference. The config existed until no node used it, and was deleted then.'
    : 'Unexpected result: it should be a deadlock without the guard and a complete install with the guard. Please ' +
      'report it with the output of --output json.';
  const lines = wrapText(verdict, format.width).map((line) =>
    applyStyle(format, asExpected ? 'bold' : 'red', line),
  );
  const next = [
    'Next, in README.md:',
    '  "Try it"   machineconfig-guard dev     with your own cluster',
    '  "Run it"   machineconfig-guard serve   as in a real installation',
  ];
  return `\n${tables}\n${lines.join('\n')}\n\n${next.join('\n')}\n`;
}

function formatEnd(format: TextFormat, { guard, outcome, nodes, configs }: DemoRun): string {
  const isComplete = outcome === 'completed';
  const end = isComplete ? 'the install completes' : 'deadlock, the install never completes';
  const title = `${guard ? 'With the guard' : 'Without the guard'}: ${end}`;
  const formatConfig = (config: string): string => (configs.includes(config) ? config : `${config}*`);
  const columns = ['NODE', 'CURRENT', 'DESIRED', 'STATE'].map((header) => ({ header }));
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

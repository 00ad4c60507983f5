import { formatCheckReport } from '../cli/check/format-report.ts';
import { CommandFormatter } from '../client/output/advice.ts';
import { applyStyle, type Style, type TextFormat, wrapParagraph, wrapText } from '../client/output/text-format.ts';
import type { CheckReport } from '../cli/check/check-cluster.ts';
import type { SimulationEvent } from './operator/simulation.ts';
import type { DemoReport, DemoStory } from './run-demo.ts';

const TIME_WIDTH = 9;
const ACTOR_WIDTH = 10;
const INDENT = '    ';
/** Marks what a command prints. */
const OUTPUT_MARK = '  │ ';
/** `check` shortens names in its tables to the same length. */
const RENDERED_NAME = /(?<=rendered-[\w.-]+-[0-9a-f]{8})[0-9a-f]{24}(?![0-9a-f])/g;

const STORIES: Readonly<Record<DemoStory, { readonly title: string; readonly explanation: string }>> = {
  unguarded: {
    title: '1a  A config in use is deleted, without the guard',
    explanation:
      'The operator rolls out a second rendered config. control1 already runs it, control2 still runs the first one. ' +
      'Then a clean-up job deletes the first one, because no pool names it and the job does not check the nodes. ' +
      '(The operator itself deletes no rendered configs. Jobs, scripts and people do.)',
  },
  guarded: {
    title: '1b  The same install with the guard',
    explanation:
      'The guard is a validating webhook for deletions. By default it also denies the deletion of a config for 2 ' +
      'hours after a pool last named it. This demo switches that off.',
  },
  restored: {
    title: '2  A config that was never in the API',
    explanation:
      'The guard runs, but nothing is deleted. The bootstrap renders a config on its own disk, and the first masters ' +
      'boot with it. The operator in the cluster renders other content under another name.',
  },
};

export function formatIntro(format: TextFormat): string {
  const paragraphs = [
    'This demo replays two incidents of OpenShift installs on a cluster in memory.',
    'Simulated: hosts, API server and operator. Real: the guard, check and restore.',
    'The Machine Config Operator merges all MachineConfigs of a pool of nodes into one rendered MachineConfig, such ' +
      'as rendered-master-1a2b3c4d (this demo shortens the names). Every node names two of them: the config that it ' +
      'runs (current) and the config that it should run (desired). If one of them does not exist, the node turns ' +
      'Degraded: its machine-config-daemon cannot update it.',
  ];
  const [title = '', ...rest] = paragraphs.map((paragraph) => wrapParagraph(format, paragraph));
  return `${[applyStyle(format, 'bold', title), ...rest].join('\n\n')}\n`;
}

export function formatStoryTitle(format: TextFormat, story: DemoStory): string {
  const { title, explanation } = STORIES[story];
  return `\n${applyStyle(format, 'bold', title)}\n${wrapParagraph(format, explanation)}\n\n`;
}

/** What `check` prints, with its first repair. */
export function formatCheck(format: TextFormat, report: CheckReport): string {
  const width = format.width - OUTPUT_MARK.length;
  const commands = new CommandFormatter('machineconfig-guard', {});
  const shortReport = { ...report, repairs: report.repairs.slice(0, 1) };
  const lines = formatCheckReport({ ...format, width, columns: width, commands }, shortReport)
    .trimEnd()
    .split('\n');
  const marked = lines.map((line) => `${OUTPUT_MARK}${line}`.trimEnd()).join('\n');
  return `${formatCommand(format, 'check')}${marked}\n`;
}

/** A command line of the guard, as a person runs it. */
export function formatCommand(format: TextFormat, command: string): string {
  return `\n${INDENT}${applyStyle(format, 'bold', `$ machineconfig-guard ${command}`)}\n\n`;
}

export function formatEvent(format: TextFormat, { t, actor, message, refusal }: SimulationEvent): string {
  const indent = TIME_WIDTH + ACTOR_WIDTH;
  const style = chooseStyle(message, actor);
  const [first = '', ...rest] = wrapText(shortenNames(message), format.width - indent).map((line) =>
    applyStyle(format, style, line),
  );
  const time = `T+${Math.floor(t / 60)}m${String(t % 60).padStart(2, '0')}s`.padEnd(TIME_WIDTH);
  const lines = [`${time}${actor.padEnd(ACTOR_WIDTH)}${first}`, ...rest.map((line) => `${' '.repeat(indent)}${line}`)];
  if (refusal !== undefined) {
    const denial = shortenNames(`Error from server (${refusal.reason}): ${refusal.message}`);
    const wrapped = wrapText(denial, format.width - INDENT.length);
    lines.push('', ...wrapped.map((line) => `${INDENT}${applyStyle(format, 'magenta', line)}`), '');
  }
  return `${lines.join('\n')}\n`;
}

export function formatConclusion(
  format: TextFormat,
  { runs, restored, asExpected }: Omit<DemoReport, 'speed'>,
): string {
  const ends = [
    ...runs.map(({ guard, outcome }) => [guard ? '1b  With the guard' : '1a  Without the guard', outcome]),
    ['2  After the restore', restored.outcome],
  ].map(([run, outcome]) => {
    const isComplete = outcome === 'completed';
    const end = isComplete ? 'the install completes' : 'deadlock, the install never completes';
    return `${applyStyle(format, isComplete ? 'bold' : ['red', 'bold'], `${run}: ${end}`)}\n`;
  });
  const verdict = asExpected
    ? 'The guard denies the deletion of a config in use. It cannot create a config that never existed: check finds ' +
      'it, and restore creates it from the disk of a node.'
    : 'Unexpected result: the install should be stuck without the guard and without the restore, and complete with ' +
      'them. Please report it with the output of --output json.';
  const lines = wrapText(verdict, format.width).map((line) => applyStyle(format, asExpected ? 'bold' : 'red', line));
  const next = [
    'Next, in README.md:',
    '  "Try it"      the guard and kubectl on a real API server',
    '  "Install it"  the guard in your cluster',
  ];
  return `\n${ends.join('')}\n${lines.join('\n')}\n\n${next.join('\n')}\n`;
}

function chooseStyle(message: string, actor: string): Style | undefined {
  const isRepaired = actor === 'restore' || message.includes('no longer Degraded');
  if (isRepaired || message.startsWith('complete')) return 'bold';
  if (message.includes('Degraded') || message.startsWith('stuck')) return 'red';
  return actor === 'clean-up' ? 'magenta' : undefined;
}

function shortenNames(text: string): string {
  return text.replaceAll(RENDERED_NAME, '');
}

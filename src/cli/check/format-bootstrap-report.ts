import { formatName } from '../../decision/message.ts';
import { countNoun } from '../../common/printable-text.ts';
import type { BootstrapConfig, BootstrapDifference, BootstrapReport } from './check-bootstrap.ts';
import { type Cell, formatTable } from '../../client/output/table.ts';
import {
  applyStyle,
  formatCommand,
  type ReportFormat,
  type Style,
  wrapParagraph,
} from '../../client/output/text-format.ts';
import { formatObjectNames } from '../../client/output/format-object-names.ts';

const NONE = '<none>';

const CONFIG_COLUMNS = ['CONFIG', 'NAMED BY', 'API'].map((header) => ({ header }));
const DIFFERENCE_COLUMNS = ['DIFFERENT', 'NAME', 'BOOTSTRAP HOST', 'CLUSTER', 'SET BY'].map((header) => ({
  header,
}));

export function formatBootstrapReport(format: ReportFormat, report: BootstrapReport): string {
  const rows = report.configs.map((config): Cell[] => [
    { text: config.name },
    { text: formatObjectNames(config.usedBy) || NONE },
    { text: formatState(config), style: getStyle(config) },
  ]);
  const parts = [
    formatTable(format, CONFIG_COLUMNS, rows),
    ...report.configs.filter(({ state }) => state !== 'exists').flatMap((config) => formatConfig(format, config)),
    applyStyle(format, report.ok ? 'bold' : ['red', 'bold'], wrapParagraph(format, formatConclusion(report))),
  ];
  return `${parts.map((part) => part.trimEnd()).join('\n\n')}\n`;
}

/** The configs that the API lacks. */
export function formatBootstrapNames({ configs }: BootstrapReport): string {
  const bad = configs.filter(({ state, needed }) => state !== 'exists' && needed);
  return bad.map(({ name }) => `machineconfig/${name}\n`).join('');
}

function formatState({ state, needed }: BootstrapConfig): string {
  if (state === 'terminating') return 'being deleted';
  if (state === 'different') return 'other content';
  return state === 'missing' && !needed ? 'missing, not needed' : state;
}

function getStyle({ state, needed, recoverable }: BootstrapConfig): Style | undefined {
  if (state === 'exists') return undefined;
  return needed && !recoverable ? 'red' : 'magenta';
}

function formatConfig(format: ReportFormat, config: BootstrapConfig): string[] {
  const parts = [wrapParagraph(format, explainConfig(config))];
  if (config.differences.length > 0) {
    parts[0] += `\n${wrapParagraph(format, `Differences from ${config.comparedWith} in the API:`)}`;
    parts.push(formatTable(format, DIFFERENCE_COLUMNS, config.differences.map(toRow)));
  }
  if (config.restore !== null) parts.push(formatCommand(format, config.restore).join('\n'));
  return parts;
}

function explainConfig(config: BootstrapConfig): string {
  const { file, contentMatchesName, sources } = config;
  const sentences = [
    ...explainState(config),
    ...explainSources(sources.onlyBootstrap, 'on the bootstrap host'),
    ...explainSources(sources.onlyCluster, 'in the cluster'),
    ...explainOtherWay(config),
  ];
  if (contentMatchesName === false) sentences.push(`The content of ${file} does not match the hash in its name.`);
  return sentences.join(' ');
}

/** Administrators have done this (okd-project/okd#893, #1013). */
function explainOtherWay({ state, recoverable, sources: { onlyBootstrap, onlyCluster } }: BootstrapConfig): string[] {
  if (state !== 'missing' || recoverable || onlyCluster.length === 0 || onlyBootstrap.length > 0) return [];
  return [
    'If nothing else differs, a way without a restore is to delete them, or what the operator generates them from. ' +
      'It then renders the missing config itself. Create them again after the install: that updates the machines.',
  ];
}

function explainState({ name, pool, state, needed, recoverable, usedBy }: BootstrapConfig): string[] {
  if (state === 'terminating') return [`${name} is being deleted. Keep its finalizers.`];
  if (state === 'different') {
    return [`${name} has other content in the API. A node that boots with it reports "unexpected on-disk state".`];
  }
  if (recoverable) return [`${name} does not exist. The operator can still render it for pool ${pool}.`];
  const missing = `${name} does not exist. The cluster rendered another config for pool ${pool}.`;
  if (usedBy.length > 0) return [missing];
  return [missing, needed ? 'Restore it as soon as a node names it.' : 'No node or pool names it.'];
}

function explainSources(names: readonly string[], side: string): string[] {
  return names.length === 0 ? [] : [`Source configs only ${side}: ${names.map(formatName).join(', ')}.`];
}

function toRow({ kind, name, bootstrap, cluster, setBy }: BootstrapDifference): Cell[] {
  return [kind, formatName(name), bootstrap ?? NONE, cluster ?? NONE, setBy.map(formatName).join(', ') || NONE].map(
    (text) => ({
      text,
    }),
  );
}

function formatConclusion({ ok, directory, configs }: BootstrapReport): string {
  const isComplete = configs.every(({ state }) => state === 'exists');
  if (ok) return `Fine: every ${isComplete ? '' : 'needed '}rendered config in ${directory} exists in the API.`;
  const bad = configs.filter(({ state, needed }) => state !== 'exists' && needed);
  const count = countNoun(configs.length, 'rendered config');
  const problem = `Not fine: problems with ${bad.length} of ${count} in ${directory}.`;
  return bad.every(({ recoverable }) => recoverable)
    ? `${problem} Run this command again when the operator has rendered the configs of all pools.`
    : `${problem} Do not reboot the bootstrap host before this is repaired.`;
}

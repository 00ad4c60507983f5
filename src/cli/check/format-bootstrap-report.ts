import { countNoun } from '../../common/printable-text.ts';
import { formatDifferences } from '../../client/config-differences.ts';
import { formatObjectNames, formatResourceName } from '../../client/output/short-forms.ts';
import { formatTable } from '../../client/output/table.ts';
import { applyStyle, formatCommand, type ReportFormat, wrapParagraph } from '../../client/output/text-format.ts';
import type { BootstrapConfig, BootstrapReport } from './check-bootstrap.ts';

const NONE = '<none>';
const STATES = { exists: 'exists', missing: 'missing', different: 'other content', terminating: 'being deleted' };

export function formatBootstrapReport(format: ReportFormat, report: BootstrapReport, isInstalling: boolean): string {
  const { ok, configs } = report;
  const rows = configs.map(({ name, usedBy, state, needed, recoverable }) => {
    const style = state === 'exists' ? undefined : needed && !recoverable ? ('red' as const) : ('magenta' as const);
    return [name, formatObjectNames(usedBy) || NONE, { text: STATES[state], style }];
  });
  const parts = [
    formatTable(format, ['CONFIG', 'NAMED BY', 'API'], rows),
    ...configs.filter(({ state }) => state !== 'exists').flatMap((config) => formatConfig(format, config)),
    applyStyle(format, ok ? 'bold' : ['red', 'bold'], wrapParagraph(format, formatConclusion(report, isInstalling))),
  ];
  return `${parts.map((part) => part.trimEnd()).join('\n\n')}\n`;
}

export function formatBootstrapNames({ configs }: BootstrapReport): string {
  return configs.map(({ name, ok }) => (ok ? '' : `${formatResourceName('MachineConfig', name)}\n`)).join('');
}

function formatConfig(format: ReportFormat, config: BootstrapConfig): string[] {
  const { comparedWith, differences, restore } = config;
  const paragraphs = [explainConfig(config)];
  if (differences.length > 0) paragraphs.push(`Differences from ${comparedWith} in the API:`);
  const table = formatDifferences(
    format,
    differences.flatMap(({ bootstrap: copy, ...difference }) => [{ copy, ...difference }]),
    'BOOTSTRAP HOST',
  );
  return [
    paragraphs.map((text) => wrapParagraph(format, text)).join('\n'),
    ...(table === '' ? [] : [table]),
    ...(restore === null ? [] : [formatCommand(format, restore).join('\n')]),
  ];
}

function explainConfig(config: BootstrapConfig): string {
  const { onlyBootstrap, onlyCluster } = config.sources;
  const sentences = [explainState(config)];
  if (onlyBootstrap.length > 0)
    sentences.push(`Source configs only on the bootstrap host: ${onlyBootstrap.join(', ')}.`);
  if (onlyCluster.length > 0) sentences.push(`Source configs only in the cluster: ${onlyCluster.join(', ')}.`);
  // Administrators have done this (okd-project/okd#893, #1013).
  if (!config.recoverable && onlyCluster.length > 0 && onlyBootstrap.length === 0) {
    sentences.push(
      'If nothing else differs, a way without a restore is to delete them, or what the operator generates them from.',
      'It then renders the missing config itself. Create them again after the install: that updates the machines.',
    );
  }
  return sentences.join(' ');
}

function explainState({ name, pool, state, needed, recoverable, usedBy }: BootstrapConfig): string {
  if (state === 'terminating') return `${name} is being deleted. Keep its finalizers.`;
  if (state === 'different') {
    return `${name} has other content in the API. A node that boots with it reports "unexpected on-disk state".`;
  }
  if (recoverable) return `${name} does not exist. The operator can still render it for pool ${pool}.`;
  const missing = `${name} does not exist. The cluster rendered another config for pool ${pool}.`;
  if (usedBy.length > 0) return missing;
  return `${missing} ${needed ? 'Restore it as soon as a node names it.' : 'No node or pool names it.'}`;
}

function formatConclusion({ ok, directory, configs }: BootstrapReport, isInstalling: boolean): string {
  if (ok) return `Fine: every needed rendered config in ${directory} exists in the API.`;
  const bad = configs.filter((config) => !config.ok);
  const count = countNoun(configs.length, 'rendered config');
  const problem = `Not fine: problems with ${bad.length} of ${count} in ${directory}.`;
  if (bad.every(({ recoverable }) => recoverable)) {
    return `${problem} Run this command again when the operator has rendered the configs of all pools.`;
  }
  return isInstalling ? `${problem} Do not reboot the bootstrap host before this is repaired.` : problem;
}

import { Argument, Command } from 'commander';
import { CliError, EXIT_CODE } from '../../client/exit.ts';
import { createFormat, wrapBeside } from '../../client/output/text-format.ts';
import type { Topics } from './pages.ts';

export function createExplainCommand(): Command {
  const command = new Command('explain')
    .description('Explain a code of the guard or an alert, and what to do.')
    .addArgument(new Argument('[topic]', 'a code, an alert, or a page of the documentation and its section'))
    .addHelpText(
      'after',
      `
The text is the documentation of this version. Without a topic, the command
lists all codes, alerts and pages. It needs neither a cluster nor the internet.
Exit codes: 0 printed, 2 unknown topic.

Examples:
  machineconfig-guard explain
  machineconfig-guard explain MCG_IN_USE
  machineconfig-guard explain MachineConfigGuardAbsent
  machineconfig-guard explain install/upgrade`,
    )
    .action(async (topic: string | undefined) => {
      const { formatTopic, listTopics } = await import('./pages.ts');
      const topics = listTopics();
      const text = topic === undefined ? formatTopics(topics) : formatTopic(findTopic(topic, topics), createFormat());
      if (text === undefined) throw new CliError(`unknown section ${JSON.stringify(topic)}`, EXIT_CODE.usage);
      command.configureOutput().writeOut?.(text);
    });
  return command;
}

/** Accepts any case, and a code or an alert without its prefix and marks. */
function findTopic(given: string, topics: Topics): string {
  const [page = '', section] = given.split('/');
  const names = ['', 'mcg', 'machineconfigguard'].map((prefix) => prefix + toKey(page));
  const byKey = new Map([...topics.keys()].map((topic) => [toKey(topic), topic]));
  const topic = names.flatMap((name) => byKey.get(name) ?? [])[0];
  if (topic !== undefined) return section === undefined ? topic : `${topic}/${section}`;
  const problem = `unknown topic ${JSON.stringify(given)}; run it without a topic to list all`;
  throw new CliError(problem, EXIT_CODE.usage);
}

function toKey(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, '');
}

function formatTopics(topics: Topics): string {
  const { width } = createFormat();
  const columns = Math.max(...[...topics.keys()].map((topic) => topic.length)) + 2;
  return [...topics].map(([topic, meaning]) => `${wrapBeside(topic.padEnd(columns), meaning, width)}\n`).join('');
}

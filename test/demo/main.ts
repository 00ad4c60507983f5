import { CliError, EXIT_CODE } from '../../src/client/exit.ts';
import { createFormat } from '../../src/client/output/text-format.ts';
import { runInProcess } from '../../src/cli/run-process.ts';
import { runDemo } from './run-demo.ts';

const USAGE = `Usage: npm run demo

Replays a failed install on a cluster in memory, and then the same install with
the guard. It needs no cluster, reads no kubeconfig and takes some seconds.
`;

runInProcess('demo', async ({ stdout }) => {
  const [argument] = process.argv.slice(2);
  if (argument !== undefined) {
    stdout(USAGE);
    return ['--help', '-h'].includes(argument) ? EXIT_CODE.success : EXIT_CODE.usage;
  }
  if (await runDemo(createFormat(), stdout)) return EXIT_CODE.success;
  const expected = 'the install should be stuck without the guard, and complete after the restore and with the guard';
  throw new CliError(`unexpected result: ${expected}; please report it`, EXIT_CODE.failure);
});

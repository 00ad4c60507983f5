import { CliError, EXIT_CODE } from '../../src/client/exit.ts';
import { createFormat } from '../../src/client/output/text-format.ts';
import { runInProcess } from '../../src/cli/run-process.ts';
import { runDemo } from './run-demo.ts';

runInProcess('demo', async ({ stdout }) => {
  if (await runDemo(createFormat(), stdout)) return EXIT_CODE.success;
  const expected = 'the install should be stuck without the guard, and complete after the restore and with the guard';
  throw new CliError(`unexpected result: ${expected}; please report it`, EXIT_CODE.failure);
});

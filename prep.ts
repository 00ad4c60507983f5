import { findOperator, findBootstrapLoop, selectOperator } from './test/e2e/operator/operator-binaries.ts';
import { buildGoReaders } from './test/e2e/manifests/go-readers.ts';
import { readCrds } from './test/e2e/control-plane/module-files.ts';
const log = (l: string) => console.error(new Date().toISOString(), l);
for (const p of ['machine-config-operator', 'openshift-4.20-manifests', 'openshift-4.20']) { try { log(p + ' ' + (await readCrds(p)).length); } catch (e) { log(p + ' ' + String(e).slice(0, 300)); } }
await buildGoReaders().then(() => log('readers'), (e) => log(String(e).slice(0, 400)));
log(await findBootstrapLoop(selectOperator('--operator'), log));
log(await findOperator(selectOperator('--operator'), log));

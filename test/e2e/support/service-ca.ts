import { type Authority, createAuthority, issueLeaf } from '../../../src/certificates/authority.ts';
import { encodeBase64 } from '../../../src/install/manifest.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { KubeObject } from '../control-plane/kube-client.ts';
import { pause } from '../control-plane/until.ts';
import { SERVICE_NAME, setAuthority } from './guard-processes.ts';
import { PATHS } from './objects.ts';

const SERVICE = `${PATHS.guardNamespace}/services/machineconfig-guard`;
const SECRETS = `${PATHS.guardNamespace}/secrets`;
const CONFIG_MAP = `${PATHS.guardNamespace}/configmaps/machineconfig-guard-service-ca`;
const SECRET_NAME = 'service.beta.openshift.io/serving-cert-secret-name';
const INJECT = 'service.beta.openshift.io/inject-cabundle';
/** Every cluster of the tests has the load of these rounds all the time. */
const RECONCILE_INTERVAL_MS = 1_000;

/**
 * Replaces OpenShift's service-ca operator until `stop` is called. It writes a certificate into the Secret that the
 * Service's annotation names, and its authority into annotated webhook configurations and ConfigMaps.
 */
export function startServiceCa({ apiServer: { admin } }: ControlPlane) {
  let authority: Promise<Authority> | undefined;
  const stopping = new AbortController();

  /** It issues every certificate. */
  const getAuthority = () => (authority ??= createAuthority({ days: 790, now: new Date() }));

  async function reconcile() {
    const name = (await admin.find(SERVICE))?.metadata.annotations?.[SECRET_NAME];
    if (name === undefined) return;
    if ((await admin.find(`${SECRETS}/${name}`)) === undefined)
      await admin.create(SECRETS, await buildSecret(name, await getAuthority()));
    const { certificatePem: bundle } = await getAuthority();
    // Prometheus reads the authority from here.
    const configMap = await admin.find(CONFIG_MAP);
    if (isAnnotated(configMap) && configMap?.data?.['service-ca.crt'] !== bundle)
      await admin.patch(CONFIG_MAP, { data: { 'service-ca.crt': bundle } });
    const webhook = await admin.find(PATHS.guardWebhook);
    const isTrusted = webhook?.webhooks?.[0]?.clientConfig.caBundle === encodeBase64(bundle);
    if (isAnnotated(webhook) && !isTrusted) await setAuthority(admin, bundle);
  }

  async function run() {
    while (!stopping.signal.aborted) {
      // The API server may be unreachable, or a test deletes the objects. The next round retries.
      await reconcile().catch(() => undefined);
      await pause(RECONCILE_INTERVAL_MS);
    }
  }

  const running = run();
  const stop = async () => {
    stopping.abort();
    await running;
  };
  return { getAuthority, stop };
}

function isAnnotated(object: KubeObject | undefined) {
  return object?.metadata.annotations?.[INJECT] === 'true';
}

async function buildSecret(name: string, authority: Authority) {
  const dnsNames = [SERVICE_NAME, `${SERVICE_NAME}.cluster.local`];
  // Tests connect to this machine without a Service.
  const leaf = await issueLeaf({ authority, dnsNames, ipAddresses: ['127.0.0.1'], days: 730, now: new Date() });
  const data = {
    'tls.crt': encodeBase64(leaf.certificatePem),
    'tls.key': encodeBase64(leaf.privateKeyPem),
  };
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, type: 'kubernetes.io/tls', data };
}

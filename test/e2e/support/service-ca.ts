import { type Authority, createAuthority, issueLeaf } from '../../../src/certificates/authority.ts';
import { encodeBase64 } from '../../../src/install/manifest.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { KubeClient, KubeObject } from '../control-plane/kube-client.ts';
import { pause } from '../control-plane/until.ts';
import { SERVICE_NAME, setAuthority } from './guard-service.ts';
import { PATHS } from './paths.ts';

const SERVICE = `${PATHS.guardNamespace}/services/machineconfig-guard`;
const SECRETS = `${PATHS.guardNamespace}/secrets`;
const CONFIG_MAP = `${PATHS.guardNamespace}/configmaps/machineconfig-guard-service-ca`;
const SECRET_NAME = 'service.beta.openshift.io/serving-cert-secret-name';
const INJECT = 'service.beta.openshift.io/inject-cabundle';
/** Every cluster of the tests has the load of these rounds all the time. */
const RECONCILE_INTERVAL_MS = 1_000;

/**
 * Replaces OpenShift's service-ca operator. It writes a certificate into the Secret that the Service's
 * annotation names, and its authority into annotated webhook configurations and ConfigMaps.
 */
export class ServiceCa {
  readonly #admin: KubeClient;
  readonly #loop: Promise<void>;
  #authority: Promise<Authority> | undefined;
  #isStopping = false;

  constructor({ apiServer }: ControlPlane) {
    this.#admin = apiServer.admin;
    this.#loop = this.#run();
  }

  /** It issues every certificate. */
  authority(): Promise<Authority> {
    return (this.#authority ??= createAuthority({ days: 30, now: new Date() }));
  }

  async stop() {
    this.#isStopping = true;
    await this.#loop;
  }

  async #run() {
    while (!this.#isStopping) {
      // The API server may be unreachable, or a test deletes the objects. The next round retries.
      await this.#reconcile().catch(() => undefined);
      await pause(RECONCILE_INTERVAL_MS);
    }
  }

  async #reconcile() {
    const name = await this.#findSecretName();
    if (name === undefined) return;
    const authority = await this.authority();
    if ((await this.#admin.find(`${SECRETS}/${name}`)) === undefined) {
      await this.#admin.create(SECRETS, await buildSecret(name, authority));
    }
    const bundle = authority.certificatePem;
    // Prometheus reads the authority from here.
    const configMap = await this.#admin.find(CONFIG_MAP);
    if (isAnnotated(configMap) && configMap?.data?.['service-ca.crt'] !== bundle)
      await this.#admin.patch(CONFIG_MAP, { data: { 'service-ca.crt': bundle } });
    const webhook = await this.#admin.find(PATHS.guardWebhook);
    const isTrusted = webhook?.webhooks?.[0]?.clientConfig.caBundle === encodeBase64(bundle);
    if (isAnnotated(webhook) && !isTrusted) await setAuthority(this.#admin, bundle);
  }

  async #findSecretName(): Promise<string | undefined> {
    return (await this.#admin.find(SERVICE))?.metadata.annotations?.[SECRET_NAME];
  }
}

function isAnnotated(object: KubeObject | undefined) {
  return object?.metadata.annotations?.[INJECT] === 'true';
}

async function buildSecret(name: string, authority: Authority) {
  const dnsNames = [SERVICE_NAME, `${SERVICE_NAME}.cluster.local`];
  // Tests connect to this machine without a Service.
  const leaf = await issueLeaf({ authority, dnsNames, ipAddresses: ['127.0.0.1'], days: 20, now: new Date() });
  const data = {
    'tls.crt': encodeBase64(leaf.certificatePem),
    'tls.key': encodeBase64(leaf.privateKeyPem),
  };
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, type: 'kubernetes.io/tls', data };
}

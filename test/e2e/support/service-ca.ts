import { createAuthority, type Authority } from '../../../src/certificates/authority.ts';
import { issueLeaf } from '../../../src/certificates/leaf.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { KubeObject } from '../control-plane/kube-client.ts';
import { pause } from '../control-plane/until.ts';
import { PATHS } from './paths.ts';

const NAMESPACE = `${PATHS.namespaces}/machineconfig-guard`;
const SECRET_NAME = 'service.beta.openshift.io/serving-cert-secret-name';
const INJECT = 'service.beta.openshift.io/inject-cabundle';
const EVERY_MS = 300;

type Webhooks = KubeObject & {
  readonly webhooks: readonly { readonly clientConfig: { readonly caBundle?: string } }[];
};

/**
 * Stands for OpenShift's service-ca operator, as far as the guard's manifests ask for it: a serving certificate in the Secret that
 * the Service's annotation names, and the authority in the caBundle of an annotated webhook configuration.
 */
export class ServiceCa {
  readonly #controlPlane: ControlPlane;
  readonly #loop: Promise<void>;
  #authority: Authority | undefined;
  /** Trusted still, after an exchange. */
  #former: Authority | undefined;
  #stopping = false;

  private constructor(controlPlane: ControlPlane) {
    this.#controlPlane = controlPlane;
    this.#loop = this.#run();
  }

  static start(controlPlane: ControlPlane): ServiceCa {
    return new ServiceCa(controlPlane);
  }

  /** As the operator does it: both are trusted first, then the Secret is written with a leaf of the new one. */
  async rotate(): Promise<void> {
    const { admin } = this.#controlPlane.apiServer;
    const name = (await admin.find(`${NAMESPACE}/services/machineconfig-guard`))?.metadata.annotations?.[SECRET_NAME];
    if (name === undefined || this.#authority === undefined) throw new Error('There is nothing to rotate yet.');
    this.#former = this.#authority;
    this.#authority = await createAuthority({ days: 30, now: new Date() });
    await this.#look();
    await pause(1_000);
    await admin.patch(`${NAMESPACE}/secrets/${name}`, await servingSecret(name, this.#authority));
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#loop;
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      // The API server may be away, or the objects change under our hands: the next round sees.
      await this.#look().catch(() => undefined);
      await pause(EVERY_MS);
    }
  }

  async #look(): Promise<void> {
    const { admin } = this.#controlPlane.apiServer;
    const service = await admin.find(`${NAMESPACE}/services/machineconfig-guard`);
    const name = service?.metadata.annotations?.[SECRET_NAME];
    if (name === undefined) return;
    const authority = (this.#authority ??= await createAuthority({ days: 30, now: new Date() }));
    if ((await admin.find(`${NAMESPACE}/secrets/${name}`)) === undefined) {
      await admin.create(`${NAMESPACE}/secrets`, await servingSecret(name, authority));
    }
    await this.#injectIntoConfigMap(authority);
    const path = `${PATHS.webhookConfigurations}/machineconfig-guard`;
    const configuration = (await admin.find(path)) as Webhooks | undefined;
    if (configuration?.metadata.annotations?.[INJECT] !== 'true') return;
    const caBundle = base64(`${authority.certificatePem}${this.#former?.certificatePem ?? ''}`);
    if (configuration.webhooks.every(({ clientConfig }) => clientConfig.caBundle === caBundle)) return;
    const webhooks = configuration.webhooks.map((webhook) => ({
      ...webhook,
      clientConfig: { ...webhook.clientConfig, caBundle },
    }));
    await admin.patch(path, { webhooks });
  }

  /** For whoever reads the metrics. */
  async #injectIntoConfigMap({ certificatePem }: Authority): Promise<void> {
    const { admin } = this.#controlPlane.apiServer;
    const path = `${NAMESPACE}/configmaps/machineconfig-guard-service-ca`;
    const configMap: (KubeObject & { data?: object }) | undefined = await admin.find(path);
    if (configMap?.metadata.annotations?.[INJECT] !== 'true' || configMap.data !== undefined) return;
    await admin.patch(path, { data: { 'service-ca.crt': certificatePem } });
  }
}

async function servingSecret(name: string, authority: Authority): Promise<KubeObject> {
  const dnsNames = [
    'machineconfig-guard.machineconfig-guard.svc',
    'machineconfig-guard.machineconfig-guard.svc.cluster.local',
  ];
  const leaf = await issueLeaf({ authority, dnsNames, ipAddresses: [], days: 20, now: new Date() });
  const data = { 'tls.crt': base64(leaf.certificatePem), 'tls.key': base64(leaf.privateKeyPem) };
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, type: 'kubernetes.io/tls', data } as KubeObject;
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

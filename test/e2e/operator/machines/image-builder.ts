import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Child } from '../../control-plane/child.ts';
import { expectStatus, type KubeClient, type KubeObject } from '../../control-plane/kube-client.ts';
import { hasCondition } from '../../support/cluster.ts';
import { MCO, OPERATOR_NAMESPACE, PATHS } from '../../support/objects.ts';
import { serviceAccountToken } from '../../support/service-account.ts';
import type { OperatorCluster } from '../operator-cluster.ts';

const BUILDER = 'machine-os-builder';
const NAMESPACE = `${PATHS.namespaces}/${OPERATOR_NAMESPACE}`;
const JOBS = `/apis/batch/v1/namespaces/${OPERATOR_NAMESPACE}/jobs`;
const OS_CONFIGS = `/apis/${MCO}/v1/machineosconfigs`;
const CURRENT_BUILD = `${MCO}/current-machine-os-build`;
/** Of the registry. The operator makes it in every cluster. */
const SECRET = 'global-pull-secret-copy';
/** Longer than the job controller waits before it replaces a failed pod. */
const PAST_MS = 3_600_000;

/** A MachineOSBuild. */
export interface Build extends KubeObject {
  readonly spec: Readonly<Record<'machineConfig' | 'machineOSConfig', { readonly name: string }>>;
  readonly status?: { readonly digestedImagePushSpec?: string };
}

interface BuildPod extends KubeObject {
  readonly spec: { readonly containers: readonly Readonly<Record<'name' | 'image', string>>[] };
  readonly status: { readonly phase: string };
}

/**
 * The real machine-os-builder. Its Jobs have the real job controller. The harness does what the kubelet and the
 * containers of their pods do: it ends the pods, and names the digest of the image.
 */
export class ImageBuilder {
  readonly #operator: OperatorCluster;
  readonly #admin: KubeClient;
  #program: Child | undefined;

  constructor(operator: OperatorCluster) {
    this.#operator = operator;
    this.#admin = operator.admin;
  }

  /** Returns before the builder works. */
  async start(): Promise<void> {
    const { binaries, installed } = this.#operator;
    const { controlPlane } = installed;
    const token = await serviceAccountToken(this.#admin, OPERATOR_NAMESPACE, BUILDER);
    const KUBECONFIG = await controlPlane.writeKubeconfig(BUILDER, { token });
    // The builder writes certificates below it.
    const cwd = join(controlPlane.directory, BUILDER);
    await mkdir(cwd, { recursive: true });
    const env = { ...process.env, KUBECONFIG };
    this.#program = controlPlane.startChild(BUILDER, join(binaries, BUILDER), ['start'], { cwd, env });
  }

  /** Returns when it has released its Lease, so that the next one starts at once. */
  async stop(): Promise<void> {
    await this.#program?.stop();
  }

  /** Stops it, and removes all MachineOSConfigs. The garbage collector removes their builds. */
  async remove(): Promise<void> {
    await this.stop();
    expectStatus(await this.#admin.delete(OS_CONFIGS), [200], 'the deletion of the MachineOSConfigs');
  }

  /** Puts a pool into image mode. Its MachineOSConfig has the name of the pool. */
  async enable(pool: string): Promise<void> {
    const spec = {
      machineConfigPool: { name: pool },
      imageBuilder: { imageBuilderType: 'Job' },
      renderedImagePushSecret: { name: SECRET },
      // A name that no server has.
      renderedImagePushSpec: `registry.invalid/lab/${pool}:latest`,
    };
    await this.#admin.create(OS_CONFIGS, {
      apiVersion: `${MCO}/v1`,
      kind: 'MachineOSConfig',
      metadata: { name: pool },
      spec,
    });
  }

  /** Sets the annotation from which the builder knows its current build, as a person does. */
  async annotate(pool: string, build: Build): Promise<void> {
    const annotations = { [CURRENT_BUILD]: build.metadata.name };
    await this.#admin.patch(`${OS_CONFIGS}/${pool}`, { metadata: { annotations } });
  }

  /** Waits until the builder has set this annotation. */
  async awaitCurrent(pool: string, { metadata }: Build): Promise<void> {
    await this.#operator.until(`the annotation of ${pool} to name ${metadata.name}`, async () => {
      const osConfig = await this.#admin.find(`${OS_CONFIGS}/${pool}`);
      return osConfig?.metadata.annotations?.[CURRENT_BUILD] === metadata.name;
    });
  }

  /**
   * Waits until the build of a config has a condition.
   * @param previous another build with the same name, which does not count
   */
  awaitBuild(config: string, condition: string, previous?: Build): Promise<Build> {
    let seen: readonly KubeObject[] = [];
    const what = () => `a build of ${config} that is ${condition}. The builds are ${JSON.stringify(seen)}`;
    return this.#operator.until(what, async () => {
      const all = (await this.#admin.list(PATHS.builds)) as readonly Build[];
      seen = all;
      return all.find((build) => {
        const isOther = build.metadata.uid !== previous?.metadata.uid;
        return isOther && build.spec.machineConfig.name === config && hasCondition(build, condition);
      });
    });
  }

  /** Fails each pod of a build, until the job controller starts no other one. */
  fail(build: Build): Promise<Build> {
    return this.#end(build, 'Failed');
  }

  /** Lets a build succeed. Returns it, or what the builder has replaced it with meanwhile. */
  succeed(build: Build): Promise<Build> {
    const { name, uid = '' } = build.metadata;
    const data = { digest: `sha256:${createHash('sha256').update(uid).digest('hex')}` };
    const digest = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `digest-${name}` }, data };
    return this.#end(build, 'Succeeded', async () => {
      const { status } = await this.#admin.request('POST', `${NAMESPACE}/configmaps`, digest);
      if (![201, 409].includes(status)) throw new Error(`the creation of a digest was answered with ${status}`);
    });
  }

  async deleteJob({ metadata }: Build): Promise<void> {
    const response = await this.#admin.delete(`${JOBS}/build-${metadata.name}`, {
      propagationPolicy: 'Background',
    });
    expectStatus(response, [200], `the deletion of the job of ${metadata.name}`);
  }

  async delete({ metadata }: Build): Promise<void> {
    const response = await this.#admin.delete(`${PATHS.builds}/${metadata.name}`);
    expectStatus(response, [200], `the deletion of ${metadata.name}`);
  }

  /**
   * The builder can see one annotation twice. Then it deletes the new build and its digest, and creates them again with
   * the same name.
   * @param writeResult before each attempt
   */
  #end(
    { metadata: { name } }: Build,
    phase: 'Failed' | 'Succeeded',
    writeResult?: () => Promise<void>,
  ): Promise<Build> {
    return this.#operator.until(`build ${name} to be ${phase}`, async () => {
      await writeResult?.();
      const labelSelector = `batch.kubernetes.io/job-name=build-${name}`;
      const pods = (await this.#admin.list(`${NAMESPACE}/pods`, { labelSelector })) as readonly BuildPod[];
      for (const pod of pods) if (pod.status.phase === 'Pending') await this.#endPod(pod, phase);
      const build = (await this.#admin.find(`${PATHS.builds}/${name}`)) as Build | undefined;
      return build !== undefined && hasCondition(build, phase) && build;
    });
  }

  /** Writes the status of the kubelet after all containers of a pod have ended. */
  async #endPod({ metadata, spec }: BuildPod, phase: 'Failed' | 'Succeeded'): Promise<void> {
    const finishedAt = new Date(Date.now() - PAST_MS).toISOString();
    const terminated = { exitCode: phase === 'Failed' ? 1 : 0, startedAt: finishedAt, finishedAt };
    const containerStatuses = spec.containers.map(({ name, image }) => {
      return { name, image, imageID: image, ready: false, restartCount: 0, state: { terminated } };
    });
    await this.#admin.patch(`${NAMESPACE}/pods/${metadata.name}/status`, { status: { phase, containerStatuses } });
  }
}

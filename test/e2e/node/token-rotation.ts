import { pause, until } from '../control-plane/until.ts';
import { AuditLog, type AuditEvent } from '../support/audit-log.ts';
import { GUARD_USER } from '../support/guarded-cluster.ts';
import { IS_LONG } from '../support/run-binaries.ts';
import { DEPLOYMENT, TOKEN_DIRECTORY, type GuardPods } from './guard-pods.ts';

/** The shortest lifetime of a projected token. */
const LIFETIME_SECONDS = 600;
/** The guard reads the file of the token again within 70 s. */
const USE_TIMEOUT_MS = 90_000;
const CREDENTIAL_ID = 'authentication.kubernetes.io/credential-id';

/** Replaces the token of the guard's pods, which is valid for an hour, by one with the shortest lifetime. */
export async function useShortToken(pods: GuardPods) {
  const sources = [
    { serviceAccountToken: { path: 'token', expirationSeconds: LIFETIME_SECONDS } },
    { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
    { downwardAPI: { items: [{ path: 'namespace', fieldRef: { fieldPath: 'metadata.namespace' } }] } },
  ];
  const spec = {
    volumes: [{ name: 'token', projected: { sources } }],
    containers: [{ name: 'guard', volumeMounts: [{ name: 'token', mountPath: TOKEN_DIRECTORY, readOnly: true }] }],
  };
  await pods.kubectl('patch', DEPLOYMENT, `--patch=${JSON.stringify({ spec: { template: { spec } } })}`);
  await pods.awaitRollout();
}

/**
 * Lets the kubelet rotate the token of a pod, and waits until the guard uses the new one. The kubelet replaces a token
 * after 80 % of its lifetime, and whenever it starts itself. The long version waits until the old token has expired.
 */
export async function rotateToken(pods: GuardPods) {
  const pod = await pods.findServing();
  const [process] = await pods.listProcesses(pod);
  const startedAt = performance.now();
  const oldToken = await pods.readTokenId(pod);
  if (!IS_LONG) {
    const node = pods.nodeOf(pod);
    await node.killKubelet();
    node.startKubelet();
  }
  const findNewToken = async () => {
    const token = await pods.readTokenId(pod);
    return token !== oldToken && token;
  };
  const newToken = await until('a new token', findNewToken, { timeoutMs: LIFETIME_SECONDS * 1_000 });
  const auditLog = new AuditLog(pods.cluster.controlPlane.apiServer.auditLog);
  const isUsed = async () => (await findLastToken(auditLog)) === newToken;
  await until('requests with the new token', isUsed, { timeoutMs: USE_TIMEOUT_MS, everyMs: 1_000 });
  if (IS_LONG) await pause(startedAt + (LIFETIME_SECONDS + 60) * 1_000 - performance.now());
  if ((await pods.listProcesses(pod))[0] !== process) throw new Error('The container was restarted.');
}

/** The ID of the token in the guard's last request. An open watch keeps the token that it began with. */
async function findLastToken(auditLog: AuditLog): Promise<string | undefined> {
  const isWanted = ({ user, verb, responseStatus }: AuditEvent) =>
    user.username === GUARD_USER && verb !== 'watch' && responseStatus?.code === 200;
  const last = (await auditLog.events(isWanted)).at(-1);
  return last?.user.extra?.[CREDENTIAL_ID]?.[0]?.replace('JTI=', '');
}

/** Who makes a request, as audit entries and admission reviews name them. */
export interface User {
  readonly username: string;
  readonly groups: readonly string[];
}

/** The user of the sandbox's own kubeconfig: `kubeadmin`'s certificate-based twin, who may do everything. */
export const ADMIN: User = { username: 'system:admin', groups: ['system:masters', 'system:authenticated'] };

/** A user by name, in the groups that authentication would add (k8s.io/apiserver, authentication/serviceaccount). */
export function userNamed(username: string): User {
  const [system, serviceaccount, namespace] = username.split(':');
  const groups =
    system === 'system' && serviceaccount === 'serviceaccount'
      ? ['system:serviceaccounts', `system:serviceaccounts:${namespace ?? ''}`, 'system:authenticated']
      : ['system:authenticated'];
  return { username, groups };
}

import type { ApiObject } from '../../kube/api-object.ts';

interface Tool {
  readonly name: string;
  /** The keys of its labels and annotations. */
  readonly keys: RegExp;
  /** Its names in `managedFields`. */
  readonly manager: RegExp;
}

/** The marks of tools that create a deleted object again. The policies of ACM set neither a label nor an annotation. */
const TOOLS: readonly Tool[] = [
  { name: 'Argo CD', keys: /^(?:argocd\.argoproj\.io\/|app\.kubernetes\.io\/instance$)/, manager: /^argocd-/ },
  {
    name: 'Advanced Cluster Management',
    keys: /(?:^|\.)open-cluster-management\.io\//,
    manager: /^(?:config-policy-controller|multicluster-operators-subscription|work-agent|klusterlet)/,
  },
  { name: 'Flux', keys: /\.toolkit\.fluxcd\.io\//, manager: /^(?:kustomize|helm)-controller/ },
];

/** Returns the name of the GitOps tool that has marked an object, or null. */
export function findGitOpsTool({ metadata }: ApiObject): string | null {
  const keys = Object.keys({ ...metadata?.labels, ...metadata?.annotations });
  const fields = Array.isArray(metadata?.managedFields) ? (metadata.managedFields as unknown[]) : [];
  const managers = fields.map((field) => String((field as { readonly manager?: unknown } | null)?.manager));
  const tool = TOOLS.find(
    (each) => keys.some((key) => each.keys.test(key)) || managers.some((name) => each.manager.test(name)),
  );
  return tool?.name ?? null;
}

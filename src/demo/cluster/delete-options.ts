import { isRecord } from './kube-object.ts';
import { badRequest, StatusError } from './status-error.ts';

/** How an object is to be deleted (`DeleteOptions` of meta.k8s.io/v1). */
export interface DeleteOptions {
  readonly dryRun: boolean;
  readonly propagationPolicy: 'Background' | 'Foreground' | 'Orphan' | undefined;
  readonly preconditions: { readonly uid?: string; readonly resourceVersion?: string };
  /** As a webhook gets to see them. */
  readonly raw: Readonly<Record<string, unknown>>;
}

/** From the body where there is one, else from the query (k8s.io/apiserver, endpoints/handlers/delete.go). */
export function deleteOptions(query: URLSearchParams, body: unknown): DeleteOptions {
  if (body !== undefined && !isRecord(body)) throw badRequest('the body of a DELETE must be DeleteOptions');
  const given = body ?? fromQuery(query);
  const policy = given['propagationPolicy'];
  if (policy !== undefined && policy !== 'Background' && policy !== 'Foreground' && policy !== 'Orphan') {
    throw badRequest(`invalid propagationPolicy ${JSON.stringify(policy)}`);
  }
  const preconditions = isRecord(given['preconditions']) ? given['preconditions'] : {};
  const { uid, resourceVersion } = preconditions;
  return {
    dryRun: isDryRun(given['dryRun']),
    propagationPolicy: policy,
    preconditions: {
      ...(typeof uid === 'string' ? { uid } : {}),
      ...(typeof resourceVersion === 'string' ? { resourceVersion } : {}),
    },
    raw: { ...given, kind: 'DeleteOptions', apiVersion: 'meta.k8s.io/v1' },
  };
}

/** Is this `dryRun` of a query or of options a dry run? The only value there is, is `All`; any other is refused. */
export function isDryRun(dryRun: unknown): boolean {
  const values =
    dryRun === undefined || dryRun === null ? [] : Array.isArray(dryRun) ? (dryRun as unknown[]) : [dryRun];
  if (values.some((value) => value !== 'All')) {
    throw new StatusError(
      422,
      'Invalid',
      `dryRun: Unsupported value: ${JSON.stringify(values)}: supported values: "All"`,
    );
  }
  return values.length > 0;
}

function fromQuery(query: URLSearchParams): Record<string, unknown> {
  const policy = query.get('propagationPolicy');
  const dryRun = query.getAll('dryRun');
  return {
    ...(policy === null ? {} : { propagationPolicy: policy }),
    ...(dryRun.length === 0 ? {} : { dryRun }),
  };
}

import { AuditLog } from '../e2e/support/audit-log.ts';

/** How many lists of all nodes the API server was asked for by a user since it was started, as its audit log says. */
export async function nodeListsBy(user: string, auditLog: string): Promise<number> {
  const lists = await new AuditLog(auditLog).events(
    ({ verb, objectRef, user: { username } }) =>
      verb === 'list' && objectRef?.resource === 'nodes' && username === user,
  );
  return lists.length;
}

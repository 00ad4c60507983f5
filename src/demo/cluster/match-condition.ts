import type { KubeObject } from './kube-object.ts';

/** Does this object reach the webhook? */
export type MatchCondition = (oldObject: KubeObject) => boolean;

/** The one form of CEL expression that the guard's registration uses. */
const NAME_STARTS_WITH = /^oldObject\.metadata\.name\.startsWith\((?<quote>["'])(?<prefix>[a-z0-9.-]*)\k<quote>\)$/;

/**
 * Compiles a webhook's match condition; undefined for an expression that the sandbox does not know. There is no CEL here: a
 * registration that needs more has to be tried on a real API server, and must not silently match everything or nothing.
 */
export function matchCondition(expression: string): MatchCondition | undefined {
  const prefix = NAME_STARTS_WITH.exec(expression.trim())?.groups?.['prefix'];
  return prefix === undefined ? undefined : ({ metadata }) => metadata.name.startsWith(prefix);
}

import type { KubeObject } from './kube-object.ts';
import { badRequest } from './status-error.ts';

/** Which objects a list, a watch or a deletion of a collection is about. */
export type Selector = (object: KubeObject) => boolean;

/**
 * Reads `labelSelector` (`a=b`, `a==b`, `a!=b`, `a`, `!a`, joined by commas) and `fieldSelector` (`metadata.name=x`).
 * Throws a 400 on anything else: a selector that is ignored would select everything.
 */
export function selectorFrom(query: URLSearchParams): Selector {
  const labels = terms(query.get('labelSelector')).map(labelTerm);
  const fields = terms(query.get('fieldSelector')).map(fieldTerm);
  return (object) => [...labels, ...fields].every((matches) => matches(object));
}

function terms(selector: string | null): string[] {
  return (selector ?? '').split(',').filter((term) => term.trim() !== '');
}

function labelTerm(term: string): Selector {
  const groups = /^\s*(?<not>!)?(?<key>[\w./-]+)\s*(?:(?<operator>!=|==?)\s*(?<value>[\w.-]*))?\s*$/.exec(term)?.groups;
  const key = groups?.['key'];
  const not = groups?.['not'];
  const operator = groups?.['operator'];
  if (key === undefined || (not !== undefined && operator !== undefined)) {
    throw badRequest(`unable to parse requirement: "${term}"`);
  }
  if (operator === undefined) return ({ metadata }) => (metadata.labels?.[key] !== undefined) === (not === undefined);
  return ({ metadata }) => (metadata.labels?.[key] === groups?.['value']) === (operator !== '!=');
}

function fieldTerm(term: string): Selector {
  const groups = /^metadata\.(?<field>name|namespace)==?(?<value>.*)$/.exec(term)?.groups;
  if (groups === undefined) throw badRequest(`field label not supported: ${term}`);
  return ({ metadata }) => metadata[groups['field'] ?? ''] === groups['value'];
}

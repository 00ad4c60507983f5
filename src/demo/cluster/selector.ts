import type { KubeObject } from './kube-object.ts';
import { badRequest } from './status-error.ts';

export type Selector = (object: KubeObject) => boolean;

const LABEL_TERM = /^\s*(?<not>!)?(?<key>[\w./-]+)\s*(?:(?<operator>!=|==?)\s*(?<value>[\w.-]*))?\s*$/;

/**
 * Parses `labelSelector` without set-based terms, and `fieldSelector` for `metadata.name`.
 *
 * @throws StatusError 400 for anything else
 */
export function parseSelector(query: URLSearchParams): Selector {
  const terms = [
    ...splitTerms(query.get('labelSelector')).map(parseLabelTerm),
    ...splitTerms(query.get('fieldSelector')).map(parseFieldTerm),
  ];
  return (object) => terms.every((matches) => matches(object));
}

function splitTerms(selector: string | null): string[] {
  return (selector ?? '').split(',').filter((term) => term.trim() !== '');
}

function parseLabelTerm(term: string): Selector {
  const { not, key, operator, value } = LABEL_TERM.exec(term)?.groups ?? {};
  if (key === undefined || (not !== undefined && operator !== undefined)) {
    throw badRequest(`unable to parse requirement: "${term}"`);
  }
  if (operator === undefined)
    return ({ metadata }) => (metadata.labels?.[key] === undefined) === (not !== undefined);
  return ({ metadata }) => (metadata.labels?.[key] === value) === (operator !== '!=');
}

function parseFieldTerm(term: string): Selector {
  const name = /^metadata\.name=(?<name>.*)$/.exec(term)?.groups?.['name'];
  if (name === undefined) throw badRequest(`field label not supported: ${term}`);
  return ({ metadata }) => metadata.name === name;
}

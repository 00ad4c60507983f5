import type { KubeObject } from './kube-object.ts';
import { badRequest } from './status-error.ts';

export type Selector = (object: KubeObject) => boolean;

const LABEL_TERM = /^(?<not>!)?(?<key>[\w./-]+)(?:=(?<value>[\w.-]*))?$/;

/**
 * Parses `labelSelector` with the terms `key`, `!key` and `key=value`, and `fieldSelector` for `metadata.name`.
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
  const { not, key, value } = LABEL_TERM.exec(term)?.groups ?? {};
  if (key === undefined) throw badRequest(`unable to parse requirement: "${term}"`);
  if (value !== undefined) return ({ metadata }) => metadata.labels?.[key] === value;
  return ({ metadata }) => (metadata.labels?.[key] === undefined) === (not !== undefined);
}

function parseFieldTerm(term: string): Selector {
  const name = /^metadata\.name=(?<name>.*)$/.exec(term)?.groups?.['name'];
  if (name === undefined) throw badRequest(`field label not supported: ${term}`);
  return ({ metadata }) => metadata.name === name;
}

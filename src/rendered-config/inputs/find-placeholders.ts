import type { StreamDocument } from '../../files/yaml-stream.ts';

type Json = Readonly<Record<string, unknown>>;

const PLACEHOLDER = /\$\{[\w.-]+\}|\$[A-Z][A-Z\d_]+\b|\{\{.*?\}\}|<[A-Za-z][\w -]*>/;
/** Scripts contain such texts, too. So it must be the whole content. */
const PLACEHOLDER_SOURCE = /^data:[^,]*,\s*\$[A-Z][A-Z\d_]+\s*$/;
/** Fields that can contain scripts. */
const FREE_TEXT = /^(?:data|stringData|annotations|containerFile)$/;

/** Finds the texts that a template should have replaced, each with its path and its line. */
export function findPlaceholders(value: Json, isRenderInput: boolean, document: StreamDocument): [string, number][] {
  const found: [string, number][] = [];
  const search = (collection: Json, path: string): void => {
    for (const [key, item] of Object.entries(collection)) {
      const pattern = key === 'source' && String(item).startsWith('data:') ? PLACEHOLDER_SOURCE : PLACEHOLDER;
      if (FREE_TEXT.test(key) || (key === 'contents' && typeof item === 'string')) continue;
      if (typeof item === 'object' && item !== null) search(item as Json, `${path}${key}.`);
      else if (pattern.test(String(item))) found.push([path + key, document.findLine(collection, key)]);
    }
  };
  // Other objects can contain templates.
  search(isRenderInput ? value : { metadata: value['metadata'] }, '');
  return found;
}

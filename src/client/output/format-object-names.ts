import { joinFirst, joinWithAnd } from '../../common/printable-text.ts';
import { REFERRER_KINDS, REFERRER_NOUNS } from '../../decision/references.ts';

const MAX_NAMES_PER_KIND = 3;

interface NamedObject {
  readonly kind: string | null;
  readonly name: string | null;
}

/** `nodes a, b, c and 2 more and pool d`. */
export function formatObjectNames(objects: readonly NamedObject[]): string {
  const texts = REFERRER_KINDS.flatMap((kind) => {
    const names = new Set(objects.filter((object) => object.kind === kind).map(({ name }) => name ?? ''));
    if (names.size === 0) return [];
    const noun = `${REFERRER_NOUNS[kind]}${names.size === 1 ? '' : 's'}`;
    return [`${noun} ${joinFirst([...names], MAX_NAMES_PER_KIND)}`];
  });
  return joinWithAnd(texts);
}

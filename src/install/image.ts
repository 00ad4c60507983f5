const HOST_PART = '[A-Za-z0-9](?:[-A-Za-z0-9]*[A-Za-z0-9])?';
const HOST = `(?:${HOST_PART}(?:\\.${HOST_PART})*|\\[[0-9a-fA-F:]+\\])(?::\\d{1,5})?`;
const NAME_PART = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
const TAG = ':\\w[-.\\w]{0,127}';
const DIGEST = '@sha256:[0-9a-f]{64}|@sha512:[0-9a-f]{128}';
/** The grammar of github.com/distribution/reference. */
const IMAGE = new RegExp(`^(?:${HOST}/)?${NAME_PART}(?:/${NAME_PART})*(?:${TAG})?(?<digest>${DIGEST})?$`);

/** Limits backtracking. */
const MAX_LENGTH = 512;

/** Whether a text is an image reference, and whether it has a digest. */
export function checkImage(reference: string): { readonly valid: boolean; readonly pinned: boolean } {
  const match = reference.length <= MAX_LENGTH ? IMAGE.exec(reference) : null;
  return { valid: match !== null, pinned: match?.groups?.['digest'] !== undefined };
}

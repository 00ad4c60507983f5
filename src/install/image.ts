/** The grammar of distribution/reference, without the lengths: registry, path in lower case, tag, digest. */
const IMAGE =
  /^(?:(?:[A-Za-z0-9](?:[-A-Za-z0-9]*[A-Za-z0-9])?)(?:\.[A-Za-z0-9](?:[-A-Za-z0-9]*[A-Za-z0-9])?)*(?::\d{1,5})?\/|\[[0-9a-fA-F:]+\](?::\d{1,5})?\/)?[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*(?::\w[-.\w]{0,127})?(?<digest>@sha256:[0-9a-f]{64}|@sha512:[0-9a-f]{128})?$/;

const MAX_LENGTH = 512;

/** What is to be said about an image reference: whether it is one, and whether it names exactly one image. */
export function checkImage(reference: string): { readonly valid: boolean; readonly pinned: boolean } {
  const match = reference.length <= MAX_LENGTH ? IMAGE.exec(reference) : null;
  return { valid: match !== null, pinned: match?.groups?.['digest'] !== undefined };
}

const LETTER = /^\p{L}$/u;
const DIGIT = /^\p{Nd}$/u;
const ZERO = 48;

/** Whether a key comes before another: digits count as numbers, letters come last (yaml.v2, sorter.go). */
export function compareKeys(a: string, b: string): number {
  return isLess(Array.from(a), Array.from(b)) ? -1 : 1;
}

function isLess(a: readonly string[], b: readonly string[]): boolean {
  const position = a.findIndex((character, index) => character !== b[index]);
  if (position === -1 || position >= b.length) return a.length < b.length;
  const [left = '', right = ''] = [a[position], b[position]];
  const [isLeftLetter, isRightLetter] = [LETTER.test(left), LETTER.test(right)];
  if (isLeftLetter && isRightLetter) return codePoint(left) < codePoint(right);
  if (isLeftLetter || isRightLetter) return isRightLetter;
  const start = (left === '0' || right === '0') && followsNonZeroDigit(a, position) ? 1n : 0n;
  const [leftNumber, rightNumber] = [readNumber(a, position, start), readNumber(b, position, start)];
  if (leftNumber.value !== rightNumber.value) return leftNumber.value < rightNumber.value;
  if (leftNumber.end !== rightNumber.end) return leftNumber.end < rightNumber.end;
  return codePoint(left) < codePoint(right);
}

function followsNonZeroDigit(characters: readonly string[], position: number): boolean {
  for (let index = position - 1; index >= 0 && DIGIT.test(characters[index] ?? ''); index -= 1) {
    if (characters[index] !== '0') return true;
  }
  return false;
}

function readNumber(characters: readonly string[], position: number, start: bigint) {
  let value = start;
  let end = position;
  for (; end < characters.length && DIGIT.test(characters[end] ?? ''); end += 1) {
    value = BigInt.asIntN(64, value * 10n + BigInt(codePoint(characters[end] ?? '') - ZERO));
  }
  return { value, end };
}

function codePoint(character: string): number {
  return character.codePointAt(0) ?? 0;
}

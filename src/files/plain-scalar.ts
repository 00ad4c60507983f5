// The rules of resolve.go in gopkg.in/yaml.v2, with which the Machine Config Operator reads and writes YAML. They are
// neither those of YAML 1.1 nor of 1.2: `1:30` and `0o8` are strings, `0o7` and `1_000` are numbers.

const WORDS: ReadonlyMap<string, string | boolean | number | null> = new Map(
  [
    { value: true, words: ['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'] },
    { value: false, words: ['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'] },
    { value: null, words: ['', '~', 'null', 'Null', 'NULL'] },
    { value: Number.NaN, words: ['.nan', '.NaN', '.NAN'] },
    { value: Number.POSITIVE_INFINITY, words: ['.inf', '.Inf', '.INF', '+.inf', '+.Inf', '+.INF'] },
    { value: Number.NEGATIVE_INFINITY, words: ['-.inf', '-.Inf', '-.INF'] },
  ].flatMap(({ value, words }) => words.map((word) => [word, value])),
);

const OCTAL = /^0[0-7]+$/;
const INTEGER = /^(?:0|[1-9][0-9]*|0x[0-9a-f]+|0o[0-7]+|0b[01]+)$/;
const FLOAT = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;

/** The value that Go reads from an unquoted text. A timestamp stays a string. */
export function resolvePlainScalar(text: string): string | boolean | number | null {
  const word = WORDS.get(text);
  if (word !== undefined) return word;
  if (!/^[-+.0-9]/.test(text)) return text;
  const number = text.startsWith('.') ? parseFloat64(text) : parseNumber(text.replaceAll('_', ''));
  return number ?? text;
}

function parseNumber(text: string): number | undefined {
  const digits = text.replace(/^[-+]/, '').toLowerCase();
  const literal = OCTAL.test(digits) ? `0o${digits.slice(1)}` : digits;
  // Beyond 64 bits, Go reads only decimal digits.
  if (!INTEGER.test(literal) || Number(literal) >= 2 ** 64) return parseFloat64(text);
  return text.startsWith('-') ? -Number(literal) : Number(literal);
}

function parseFloat64(text: string): number | undefined {
  const number = FLOAT.test(text) ? Number(text) : Number.NaN;
  // Go rejects a number that overflows.
  return Number.isFinite(number) ? number : undefined;
}

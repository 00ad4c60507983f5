const QUANTITY = /^([-+]?)(\d+\.?\d*|\.\d+)(?:([a-zA-Z]*)|[eE]([-+]?\d+))$/;
const FACTORS: Readonly<Record<string, number>> = Object.fromEntries([
  ...['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'].map((suffix, index) => [suffix, 1000 ** (index - 3)] as const),
  ...Array.from('KMGTPE', (letter, index) => [`${letter}i`, 1024 ** (index + 1)] as const),
]);

/** The number that a quantity of Kubernetes stands for, such as 8589934592 for `8Gi`. */
export function parseQuantity(text: string): number | undefined {
  const [, sign = '', digits, suffix = '', exponent] = QUANTITY.exec(text) ?? [];
  const factor = exponent === undefined ? FACTORS[suffix] : 10 ** Number(exponent);
  return factor === undefined || digits === undefined ? undefined : Number(`${sign}${digits}`) * factor;
}

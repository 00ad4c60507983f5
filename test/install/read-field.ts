/** The value at a path of keys and indices, such as `spec.rules.0`, in parsed YAML. */
export function readField(object: unknown, keys: string): unknown {
  return keys.split('.').reduce((value, key) => (value as Readonly<Record<string, unknown>>)[key], object);
}

import { format as formats } from '@cfworker/json-schema';
import { RE2JS } from 're2js';

const compiled = new Map<string, RE2JS | undefined>();

/**
 * Compiles a regular expression as Go does. It takes linear time, unlike one of JavaScript, so that one of a user
 * cannot run for ever. Undefined if Go rejects it.
 */
export function compileGoRegExp(text: string): RE2JS | undefined {
  if (!compiled.has(text)) compiled.set(text, compile(text));
  return compiled.get(text);
}

/** Adds a format for a pattern, such as `/^a/`, to the validator. It would hand a pattern to JavaScript. */
export function addFormat(name: string): string {
  formats[name] = (text) => compileGoRegExp(name.slice(1, -1))?.test(text) !== false;
  return name;
}

function compile(text: string): RE2JS | undefined {
  try {
    return RE2JS.compile(text);
  } catch {
    return undefined;
  }
}

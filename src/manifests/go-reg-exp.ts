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

function compile(text: string): RE2JS | undefined {
  try {
    return RE2JS.compile(text);
  } catch {
    return undefined;
  }
}

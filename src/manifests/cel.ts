import { BlockList, isIP, SocketAddress } from 'node:net';
import { Environment } from '@marcbachmann/cel-js';
import { compileGoRegExp } from './go-reg-exp.ts';
import { KindCatalog } from './schemas.ts';

export type Expression = ReturnType<Environment['parse']>;

/** A node of an expression before it is checked, with what the types of the library leave out. */
interface Node {
  readonly op: string;
  readonly args: unknown[];
  readonly meta: { evaluate: (...parameters: unknown[]) => unknown; alternate?: Node; readonly macro?: object };
}

const QUANTITY = /^([-+]?(?:\d+\.?\d*|\.\d+))(?:[eE]([-+]?\d+)|([KMGTPE])i|([numkMGTPE]?))$/;
/** Comprehensions with two variables, which the library does not know. */
const UNPARSED = /\.(?:transform\w+|(?:all|exists|exists_?[oO]ne)\(\s*\w+\s*,\s*\w+\s*,)/;
/** What Kubernetes makes of characters that no name in CEL has (apiserver, pkg/cel/escaping.go). */
const UNESCAPED: Readonly<Record<string, string>> = { underscores: '__', dash: '-', dot: '.', slash: '/' };

/** What functions such as `ip.isCanonical` belong to. */
class Library {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** Go finds no path in a URL without one. */
class ParsedUrl extends URL {
  readonly path: string;
  readonly query: Readonly<Record<string, readonly string[]>>;

  constructor(text: string) {
    super(text);
    this.path = /^\w+:\/\/[^/]*$/.test(text) ? '' : this.pathname;
    const names = Array.from(this.searchParams.keys(), (name) => [name, this.searchParams.getAll(name)]);
    this.query = Object.fromEntries(names) as typeof this.query;
  }
}
const URL_FIELDS = {
  host: 'string',
  hostname: 'string',
  path: 'string',
  port: 'string',
  protocol: 'string',
  query: 'map',
};

/** What an expression has cost, and may cost, in steps. */
export interface Meter {
  cost: number;
  readonly limit: number;
}

let meter: Meter = { cost: 0, limit: Number.POSITIVE_INFINITY };

/** Returns a meter for the metered expressions that run until the next call. One that exceeds the limit fails. */
export function startMeter(limit: number): Readonly<Meter> {
  meter = { cost: 0, limit };
  return meter;
}

const compiled = new WeakMap<Environment, Map<string, Expression>>();
/** What CEL has in an API server, without variables. */
export const KUBERNETES = createEnvironment();

/** An environment with variables of any type, in which nothing else can be added to the first one. */
export function addVariables(environment: Environment, names: readonly string[]): Environment {
  const own = environment.clone();
  for (const name of names) own.registerVariable(name, 'dyn');
  return own;
}

/**
 * Compiles an expression once, as the environment of an API server does.
 * @param isMetered whether its cost counts
 * @throws ParseError or TypeError of the library if it is none
 */
export function compile(environment: Environment, text: string, isMetered = true): Expression {
  const known = compiled.get(environment) ?? new Map<string, Expression>();
  compiled.set(environment, known);
  const expression = known.get(text) ?? compileNew(environment, text, isMetered);
  known.set(text, expression);
  return expression;
}

function compileNew(environment: Environment, text: string, isMetered: boolean): Expression {
  const expression = environment.parse(UNPARSED.test(text) ? 'unsupported()' : text);
  adapt(expression.ast, isMetered);
  const { error } = expression.check();
  if (error) throw error;
  return expression;
}

/**
 * Changes what the library does otherwise than Kubernetes: escaped names, `matches`, which it hands to JavaScript, and
 * `has` of a part of an item. Lets each step cost 1, and more if it results in a text, or in a list to search in.
 */
function adapt(part: unknown, isMetered: boolean, isSearched = false, seen = new Set()): void {
  if (typeof part !== 'object' || part === null || seen.has(part)) return;
  seen.add(part);
  const { op, args, meta } = part as Node;
  if (meta === undefined) {
    for (const each of Object.values(part)) adapt(each, isMetered, isSearched, seen);
    return;
  }
  if (op === 'rcall' && args[0] === 'matches') args[0] = 'matchesInGo';
  if (op === 'call' && args[0] === 'has') adaptHas(part as Node);
  if (op === '.' || op === '.?') args[1] = unescapeName(args[1]);
  for (const inner of [args, meta.alternate, meta.macro]) adapt(inner, isMetered, /^(?:in|[!=]=)$/.test(op), seen);
  if (!isMetered || op === 'value') return;
  const { evaluate } = meta;
  meta.evaluate = (...parameters) => {
    spend(1);
    const result = evaluate(...parameters);
    if (typeof result === 'string') spend(result.length / 10);
    if (isSearched && Array.isArray(result)) spend(result.length);
    return result;
  };
}

/** The library has no `has(self[0].a)`, but `'a' in self[0]`. */
function adaptHas({ args, meta }: Node): void {
  const [field] = args[1] as [Node?];
  let base = field;
  while (base?.op === '.' || base?.op === '.?') base = base.args[0] as Node;
  if (field === undefined || base?.op === 'id') return;
  const test = KUBERNETES.parse("'' in self").ast as unknown as Node;
  const [owner, name] = field.args;
  (test.args[0] as { args: unknown }).args = unescapeName(name);
  test.args[1] = owner;
  meta.alternate = test;
}

function unescapeName(name: unknown): string {
  return String(name).replaceAll(/__(\w+?)__/g, (_, escaped: string) => UNESCAPED[escaped] ?? escaped);
}

/** @throws Error if the expression costs too much. Also the library can catch it, so the caller compares the cost. */
function spend(units: number): void {
  meter.cost += units;
  if (meter.cost > meter.limit) throw new Error('cost limit exceeded');
}

/** The number that a quantity of Kubernetes stands for, such as 8589934592 for `8Gi`. NaN for other texts. */
export function parseQuantity(value: unknown): number {
  const [, number, exponent, binary, decimal] = QUANTITY.exec(String(value)) ?? [];
  if (exponent !== undefined) return Number(number) * 10 ** Number(exponent);
  const factor = binary ? 1024 ** ' KMGTPE'.indexOf(binary) : 1000 ** ('num kMGTPE'.indexOf(decimal || ' ') - 3);
  return Number(number) * factor;
}

/** An address as Go formats it. Empty if Go takes none: with a zone, or an IPv4 address as one of IPv6. */
function formatAddress(text: string): string {
  const family = isIP(text);
  const isTaken = family > 0 && !/%|:.*\./.test(text);
  return isTaken ? new SocketAddress({ address: text, family: getFamily(text) }).address : '';
}

function getFamily(address: string): 'ipv4' | 'ipv6' {
  return address.includes(':') ? 'ipv6' : 'ipv4';
}

/** Whether a network contains all addresses of another one. */
function containsCidr(network: string, other: string): boolean {
  const [[address = '', bits], [start = '', otherBits]] = [network.split('/'), other.split('/')];
  const list = new BlockList();
  list.addSubnet(address, Number(bits), getFamily(address));
  return Number(otherBits) >= Number(bits) && list.check(start, getFamily(start));
}

/** What CEL has in an API server (apiserver, pkg/cel/library), with the functions in build/schemas/functions.yaml. */
function createEnvironment(): Environment {
  const environment = new Environment({ enableOptionalTypes: true, homogeneousAggregateLiterals: false });
  environment.registerType('ParsedUrl', { ctor: ParsedUrl, fields: URL_FIELDS }).registerType('Library', Library);
  for (const name of ['format', 'ip', 'sets', 'strings'])
    environment.registerConstant(name, 'Library', new Library(name));
  const add = (signature: string, handler: (...args: never[]) => unknown): void =>
    void environment.registerFunction(signature, handler);
  // Added with the first call, when the environment has every function.
  let operands: Environment | undefined;
  for (const [signature, body] of Object.entries(KindCatalog.shared().functions)) {
    add(signature, (a?: unknown, b?: unknown, c?: unknown, d?: unknown) => {
      if (body === null) throw Object.assign(new Error(signature), { code: 'unsupported_function' });
      operands ??= addVariables(environment, ['a', 'b', 'c', 'd']);
      return compile(operands, body, false)({ a, b, c, d });
    });
  }
  add('list.sum(): dyn', (list: readonly number[]) => (list.length > 0 ? list.reduce((sum, item) => sum + item) : 0n));
  add('list.indices(): list', (list: readonly unknown[]) => Array.from(list, (_, index) => BigInt(index)));
  add('list.sort(): list', (list: readonly number[]) => list.toSorted((one, other) => (one < other ? -1 : 1)));
  // Undefined, which is no value of CEL, if Go rejects the pattern.
  add('string.matchesInGo(string): bool', (text: string, pattern: string) => compileGoRegExp(pattern)?.test(text));
  // Go takes no control characters.
  add('isURL(string): bool', (text: string) => !/\p{Cc}/u.test(text) && URL.canParse(text));
  add('url(string): ParsedUrl', (text: string) => new ParsedUrl(text));
  add('string.formatAddress(): string', formatAddress);
  add('string.containsCIDR(string): bool', containsCidr);
  add('quantity(dyn): double', parseQuantity);
  add('string.findAll(string): list', (text: string, pattern: string) =>
    Array.from(compileGoRegExp(pattern)?.matchAll(text) ?? [], ([found]) => found),
  );
  return environment;
}

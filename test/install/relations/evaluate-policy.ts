import { Environment } from '@marcbachmann/cel-js';
import type { V1ValidatingAdmissionPolicy } from '@kubernetes/client-node';

/** A write, and what a policy can read of it. */
export interface PolicyRequest {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE';
  /** Such as `nodes`. */
  readonly resource: string;
  readonly kind?: string;
  readonly object?: object;
  readonly oldObject?: object;
  readonly params?: object;
  readonly user?: string;
  readonly isDryRun?: boolean;
  /** Whether the user may delete the object. */
  readonly mayDelete?: boolean;
}

export interface PolicyAnswer {
  /** `unmatched` if the policy is not about this write. */
  readonly verdict: 'allowed' | 'denied' | 'unmatched';
  /** Empty unless it is denied. */
  readonly message: string;
  readonly audit: Readonly<Record<string, string>>;
}

/** What `authorizer.group(G).resource(R).name(N).check(V)` answers. */
class Authorizer {
  readonly mayDelete: boolean;
  readonly parts: readonly string[];

  constructor(mayDelete: boolean, parts: readonly string[] = []) {
    this.mayDelete = mayDelete;
    this.parts = parts;
  }
}

/** The namespace of `strings.quote`. */
class Strings extends Object {}

const ENVIRONMENT = createEnvironment();
/** By their text, because to parse them takes longer than to evaluate them. */
const expressions = new Map<string, ReturnType<Environment['parse']>>();

/**
 * Evaluates a policy as the API server does (k8s.io/apiserver, admission/plugin/policy/validating).
 * @throws Error if an expression fails
 */
export function evaluatePolicy({ spec }: V1ValidatingAdmissionPolicy, request: PolicyRequest): PolicyAnswer {
  const { operation, resource, kind = '', object, oldObject, params, user = 'admin', isDryRun = false } = request;
  const nothing = { message: '', audit: {} };
  const isConstrained = (spec?.matchConstraints?.resourceRules ?? []).some(({ operations = [], resources = [] }) => {
    return operations.includes(operation) && resources.includes(resource);
  });
  const known: Record<string, unknown> = {
    object: toCel(object ?? null),
    oldObject: toCel(oldObject ?? null),
    params: toCel(params ?? null),
    request: { operation, dryRun: isDryRun, userInfo: { username: user }, kind: { kind } },
    authorizer: new Authorizer(request.mayDelete === true),
  };
  const conditions = spec?.matchConditions ?? [];
  if (!isConstrained || !conditions.every(({ expression }) => evaluate(expression, known) === true))
    return { verdict: 'unmatched', ...nothing };
  const variables: Record<string, unknown> = {};
  for (const { name, expression } of spec?.variables ?? [])
    variables[name] = evaluate(expression, { ...known, variables });
  const all = { ...known, variables };
  const violated = (spec?.validations ?? []).find(({ expression }) => evaluate(expression, all) !== true);
  const audits = (spec?.auditAnnotations ?? []).map(({ key, valueExpression }) => [
    key,
    evaluate(valueExpression, all),
  ]);
  const audit = Object.fromEntries(audits.filter(([, value]) => value !== '')) as Record<string, string>;
  if (violated === undefined) return { verdict: 'allowed', message: '', audit };
  const { messageExpression, message = '' } = violated;
  const text = messageExpression === undefined ? message : String(evaluate(messageExpression, all));
  return { verdict: 'denied', message: text, audit };
}

function evaluate(expression: string, context: Readonly<Record<string, unknown>>): unknown {
  const parsed = expressions.get(expression) ?? ENVIRONMENT.parse(expression);
  expressions.set(expression, parsed);
  return parsed(context);
}

/** Whole numbers of CEL are a bigint. */
function toCel(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toCel);
  if (typeof value === 'number') return BigInt(value);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, toCel(field)]));
}

/** With the functions of Kubernetes that the policies call (apiserver, pkg/cel/library). */
function createEnvironment(): Environment {
  const environment = new Environment({
    unlistedVariablesAreDyn: true,
    enableOptionalTypes: true,
    homogeneousAggregateLiterals: false,
  });
  environment.registerType('Authorizer', Authorizer);
  environment.registerType('Strings', Strings);
  environment.registerConstant('strings', 'Strings', new Strings());
  const add = (signature: string, handler: (...args: never[]) => unknown): void =>
    void environment.registerFunction(signature, handler);
  for (const step of ['group', 'resource', 'name', 'check'])
    add(`Authorizer.${step}(string): Authorizer`, ({ mayDelete, parts }: Authorizer, part: string) => {
      return new Authorizer(mayDelete, [...parts, part]);
    });
  add('Authorizer.allowed(): bool', ({ mayDelete, parts }: Authorizer) => mayDelete && parts.at(-1) === 'delete');
  add('Strings.quote(string): string', (_strings: Strings, text: string) => JSON.stringify(text));
  add('string.findAll(string): list', (text: string, pattern: string) => text.match(toPattern(pattern)) ?? []);
  return environment;
}

/** A pattern of RE2, whose characters have the form \x{34f}. */
function toPattern(pattern: string): RegExp {
  return new RegExp(pattern.replaceAll('\\x{', '\\u{'), 'gu');
}

import type { ObjectMeta } from './kube-object.ts';
import { badRequest } from './status-error.ts';

/** Where the next page of a list begins, and the version of its first page. Opaque to clients. */
export class ContinueToken {
  readonly version: number;
  readonly #after: string;

  constructor(version: number, last: Pick<ObjectMeta, 'name' | 'namespace'>) {
    this.version = version;
    this.#after = keyOf(last);
  }

  /** Reads a token; undefined where there is none. Throws a 400 on a broken one. */
  static parse(token: string | null): ContinueToken | undefined {
    if (token === null || token === '') return undefined;
    const fields = Buffer.from(token, 'base64url').toString('utf8').split(' ');
    const [version, namespace, name] = fields;
    if (fields.length !== 3 || name === undefined || namespace === undefined || !/^\d+$/.test(version ?? '')) {
      throw badRequest('continue key is not valid');
    }
    return new ContinueToken(Number(version), { name, namespace });
  }

  /** Does this object belong to a later page? */
  isBefore(metadata: Pick<ObjectMeta, 'name' | 'namespace'>): boolean {
    return this.#after < keyOf(metadata);
  }

  toString(): string {
    return Buffer.from(`${this.version} ${this.#after.replace('/', ' ')}`).toString('base64url');
  }
}

function keyOf({ name, namespace = '' }: Pick<ObjectMeta, 'name' | 'namespace'>): string {
  return `${namespace}/${name}`;
}

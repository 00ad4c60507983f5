/** A value for new connections that can be replaced at any time. */
export class Replaceable<Value> {
  #current: Value;
  readonly #listeners: (() => void)[] = [];

  constructor(first: Value) {
    this.#current = first;
  }

  current(): Value {
    return this.#current;
  }

  /** Calls the listener after each replacement. The listener must not throw. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  replace(value: Value): void {
    this.#current = value;
    for (const listener of this.#listeners) listener();
  }
}

/** Nodes of a few pools have as many forms, some of them on their way to another config. */
const REMEMBERED = 4;

/** The last few of something. */
export class Recent<Item> {
  readonly #items: Item[] = [];
  #oldest = 0;

  find(isIt: (item: Item) => boolean): Item | undefined {
    for (const item of this.#items) if (isIt(item)) return item;
    return undefined;
  }

  add(item: Item): void {
    this.#items[this.#oldest] = item;
    this.#oldest = (this.#oldest + 1) % REMEMBERED;
  }
}

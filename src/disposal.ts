/**
 * What was opened and has to be closed, the last first: the part of `AsyncDisposableStack` that is needed here, which
 * Node.js has from version 24 on only.
 */
export class Disposals implements AsyncDisposable {
  #closers: (() => unknown)[] = [];

  /** Closes this too. */
  defer(close: () => unknown): void {
    this.#closers.push(close);
  }

  use<Resource extends AsyncDisposable>(resource: Resource): Resource {
    this.defer(() => resource[Symbol.asyncDispose]());
    return resource;
  }

  /** Gives all of it to somebody else: what is here then closes nothing. */
  move(): Disposals {
    const moved = new Disposals();
    moved.#closers = this.#closers;
    this.#closers = [];
    return moved;
  }

  /** Closes everything, whatever fails; rejects with the first failure. May be called again. */
  async [Symbol.asyncDispose](): Promise<void> {
    const failures: unknown[] = [];
    for (const close of this.#closers.splice(0).reverse()) {
      try {
        await close();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}

/**
 * Room for the arguments of calls that are under way. All that a workflow schedules in one go is sent in one gRPC request of
 * at most 4 MiB, whatever each payload may have; above it the workflow task fails for ever. So calls wait for their room,
 * in the order in which they asked. A call that is larger than the room has it alone. Replays alike: no clock, no chance.
 */
export class RequestRoom {
  #free: number;
  readonly #bytes: number;
  readonly #waiting: { bytes: number; enter: () => void }[] = [];

  constructor(bytes: number) {
    this.#bytes = bytes;
    this.#free = bytes;
  }

  /**
   * Takes room for `bytes`: at once, or, where a promise is returned, when that resolves. Whoever took it gives it back with
   * `leave`. No promise where there is room, since the SDK notes a stack trace for each one that a workflow makes.
   */
  enter(bytes: number): Promise<void> | undefined {
    const taken = this.#taken(bytes);
    if (this.#waiting.length > 0 || taken > this.#free) {
      return new Promise<void>((enter) => this.#waiting.push({ bytes: taken, enter }));
    }
    this.#free -= taken;
    return undefined;
  }

  leave(bytes: number): void {
    this.#free += this.#taken(bytes);
    this.#admit();
  }

  #taken(bytes: number): number {
    return Math.min(bytes, this.#bytes);
  }

  #admit(): void {
    for (let next = this.#waiting[0]; next && next.bytes <= this.#free; next = this.#waiting[0]) {
      this.#free -= next.bytes;
      this.#waiting.shift();
      next.enter();
    }
  }
}

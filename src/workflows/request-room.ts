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

  /** Runs `work` once there is room for `bytes`, and frees it when the work ends. Rejects as `work` does. */
  async hold<T>(bytes: number, work: () => Promise<T>): Promise<T> {
    const taken = Math.min(bytes, this.#bytes);
    if (this.#waiting.length > 0 || taken > this.#free) {
      await new Promise<void>((enter) => this.#waiting.push({ bytes: taken, enter }));
    } else {
      this.#free -= taken;
    }
    try {
      return await work();
    } finally {
      this.#free += taken;
      this.#admit();
    }
  }

  #admit(): void {
    for (let next = this.#waiting[0]; next && next.bytes <= this.#free; next = this.#waiting[0]) {
      this.#free -= next.bytes;
      this.#waiting.shift();
      next.enter();
    }
  }
}
